import { lazy, type ReactNode, Suspense, useEffect, useLayoutEffect, useRef, useState } from "react";
import { InSlices } from "./components/in-parts.tsx";
import { PluginPanels } from "./components/place/place.tsx";
import { ErrorBoundary } from "./components/ui/panel/panel.tsx";
import { PageDrop, Pickers } from "./components/upload/pickers.tsx";
import styles from "./frame/frame.module.css";
import { Notices } from "./frame/notices.tsx";
import { ProblemList } from "./frame/problems.tsx";
import { listenForKeys, Rail, screenComponent } from "./frame/screens.tsx";
import { Announcer, StatusStrip } from "./frame/status-strip.tsx";
import { isAsking, useConsent } from "./stores/consent.ts";
import { useRoute } from "./stores/route.ts";

const Dialogs = lazy(() => import("./frame/dialogs.tsx"));

export function App(): ReactNode {
  const screen = useRoute((route) => route.screen);
  const system = useRoute((route) => route.panel === "system");
  const [keysOpen, setKeysOpen] = useState(false);
  const [warningsOpen, setWarningsOpen] = useState(false);
  const asking = useConsent(isAsking);
  /** Whether a dialog was open: the first one loads them all. */
  const opened = useRef(false);
  opened.current ||= keysOpen || warningsOpen || system || asking;
  useEffect(() => listenForKeys(() => setKeysOpen(true)), []);
  const main = useRef<HTMLElement>(null);
  /** What had the focus last; removed elements lose it without an event. */
  const focused = useRef<Node | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: elements go with their screen
  useLayoutEffect(() => {
    // The pressed link has gone with its screen: the next Tab begins in the new one, not before the rail.
    if (focused.current?.isConnected === false) main.current?.focus();
  }, [screen]);
  const Screen = screenComponent(screen);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only looks where the focus goes
    <div
      className={`grid ${styles.app}`}
      onFocus={({ target }) => {
        focused.current = target;
      }}
    >
      <button
        type="button"
        className={`p-2-3 round-m framed-control ${styles.skip}`}
        onClick={() => document.getElementById("main")?.focus()}
      >
        Skip to the screen
      </button>
      <StatusStrip onKeys={() => setKeysOpen(true)} onWarnings={() => setWarningsOpen(true)} />
      <Rail />
      <div className={styles.notices}>
        <Notices />
        <ProblemList onAll={() => setWarningsOpen(true)} />
      </div>
      {/* A new element begins at its top without being laid out at once. */}
      <main
        key={screen}
        ref={main}
        id="main"
        className={`min-0 scroll ${styles.main}`}
        tabIndex={-1}
        data-screen={screen}
      >
        <ErrorBoundary>
          <Suspense fallback={null}>
            <InSlices>
              <Screen />
            </InSlices>
          </Suspense>
        </ErrorBoundary>
      </main>
      <Announcer />
      <PluginPanels at="background" given={{}} quiet />
      <Pickers />
      <PageDrop />
      {opened.current && (
        <Suspense fallback={null}>
          <Dialogs
            keys={{ open: keysOpen, onOpenChange: setKeysOpen }}
            warnings={{ open: warningsOpen, onOpenChange: setWarningsOpen }}
          />
        </Suspense>
      )}
    </div>
  );
}

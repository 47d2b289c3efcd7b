/** The panel beside the tabs of Train; it stays while the live view goes on. */
import { type ReactNode, useEffect, useRef } from "react";
import { useShortcuts, usesArrows } from "../../components/shortcuts.ts";
import { Button, Turns } from "../../components/ui/button.tsx";
import { IconClose } from "../../components/ui/icons.tsx";
import { CopyPanel } from "../../components/ui/panel/panel.tsx";
import styles from "./train.module.css";

/** A titled panel that takes the focus when it opens and gives it back when it closes. */
export function SidePanel(props: {
  readonly name: string;
  /** What is shown, such as "rollout". */
  readonly kind: string;
  readonly testId: string;
  /** Beside the name, and below it. */
  readonly numbers?: ReactNode;
  readonly place?: ReactNode;
  /** Shows the one before and the one after; null where there is none. */
  readonly onPrevious: (() => void) | null;
  readonly onNext: (() => void) | null;
  readonly onClose: () => void;
  readonly children: ReactNode;
}): ReactNode {
  const { name, kind, testId, numbers, place, onPrevious, onNext, onClose, children } = props;
  const panel = useRef<HTMLElement>(null);
  // The keyboard follows the panel, and returns to what opened it.
  useEffect(() => {
    const opener = document.activeElement;
    panel.current?.focus({ preventScroll: true });
    return () => {
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus({ preventScroll: true });
    };
  }, []);
  useShortcuts((event) => {
    if (event.shiftKey || (event.key !== "Escape" && usesArrows(event.target))) return;
    const act = { ArrowLeft: onPrevious, ArrowRight: onNext, Escape: onClose }[event.key];
    if (act == null) return;
    event.preventDefault();
    act();
  });
  return (
    <aside
      ref={panel}
      tabIndex={-1}
      className={`column-flex surface ${styles.panel}`}
      aria-label="Inspector"
      data-testid={testId}
    >
      <section className="column-flex min-0" aria-label={name}>
        <header className={`row gap-1 surface ${styles.head}`}>
          <div className="grow min-0">
            <div className={`row gap-3 ${styles.numbers}`}>
              <h2>{name}</h2>
              {numbers}
            </div>
            {place}
          </div>
          <Turns kind={kind} onPrevious={onPrevious} onNext={onNext} />
          <CopyPanel name={name.toLowerCase()} />
          <Button
            kind="quiet"
            aria-label="Close the inspector"
            title="Close (Esc)"
            icon={<IconClose />}
            onClick={onClose}
          />
        </header>
        {children}
      </section>
    </aside>
  );
}

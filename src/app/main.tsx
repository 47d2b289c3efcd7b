import "./styles/tokens.css";
import "./styles/global.css";
import "./styles/layout.css";
import { createRoot } from "react-dom/client";
import { PANELS } from "../plugins/panels.ts";
import { App } from "./app.tsx";
import { report, startLab } from "./clients/lab.ts";
import { followCauses, followSettings, openDemo } from "./clients/loading.ts";
import { findInterrupted, followDeletions } from "./clients/run/interrupted.ts";
import { followOthers } from "./clients/run/run-reads.ts";
import { providePanels } from "./components/place/place.tsx";
import { loadScreens } from "./frame/screens.tsx";
import { askBeforeLeaving, followTheme, refuseFrame } from "./frame/window.ts";
import { followAddress } from "./stores/route.ts";
import { followOtherTabs } from "./stores/run/other-tabs.ts";

const root = document.getElementById("root");
if (!refuseFrame(root)) {
  providePanels(PANELS);
  followTheme();
  followAddress();
  startLab();
  followSettings();
  followCauses();
  followDeletions();
  followOthers();
  askBeforeLeaving();
  followOtherTabs(() => report(findInterrupted()));
  if (root !== null) createRoot(root).render(<App />);
  // First: Train waits for it.
  report(findInterrupted());
  report(openDemo());
  requestIdleCallback(() => report(loadScreens()));
}

import type { ReactNode } from "react";
import type { Axis } from "../../stores/route-text.ts";
import { Button } from "../ui/button.tsx";
import { IconClose } from "../ui/icons.tsx";
import { AXIS_NAMES } from "./plot/axis.ts";
import { setZoom, useZoomText } from "./plot/zoom.ts";

/** Badge of a zoom: the range that the charts of a name show, and a button that resets it. */
export function AllSteps({ sync, axis }: { readonly sync: string; readonly axis: Axis }): ReactNode {
  const shown = useZoomText(sync, axis);
  if (shown === null) return null;
  return (
    <Button
      icon={<IconClose size={12} />}
      data-testid="all-steps"
      title="Reset the zoom; double-clicking a chart does the same"
      onClick={() => setZoom(sync, null)}
    >
      {AXIS_NAMES[axis]} {shown}
    </Button>
  );
}

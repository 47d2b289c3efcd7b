import type { ReactNode } from "react";
import { Button } from "../ui/button.tsx";
import { IconClose } from "../ui/icons.tsx";
import { setSharedZoom, useZoomText } from "./zoom.ts";

/** Mark of a zoom: which steps the charts of a name show, and the way back to all of them. */
export function AllSteps({ sync }: { readonly sync: string }): ReactNode {
  const shown = useZoomText(sync);
  if (shown === null) return null;
  return (
    <Button
      icon={<IconClose size={12} />}
      data-testid="all-steps"
      title="Show all steps; a double click on a chart does the same"
      onClick={() => setSharedZoom(sync, null)}
    >
      Steps {shown}
    </Button>
  );
}

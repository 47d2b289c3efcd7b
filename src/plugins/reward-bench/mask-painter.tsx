import { type PointerEvent, type ReactNode, useCallback, useEffect, useRef, useState } from "react";
import { MaskFigure } from "../../app/components/mask/mask-figure.tsx";
import { Button } from "../../app/components/ui/button.tsx";
import { Segmented, Slider } from "../../app/components/ui/controls.tsx";
import { decodeRle, encodeRle, type Rle } from "../../engine/data/mask/rle.ts";
import { grown, paintLine } from "./brush.ts";
import styles from "./trial.module.css";

type Tool = "brush" | "eraser";

/** A picture with the given mask and a mask painted by hand. */
export function MaskPainter(props: {
  readonly rowId: string;
  readonly given: Rle;
  readonly painted: Rle | null;
  readonly onChange: (mask: Rle) => void;
  readonly label: string;
}): ReactNode {
  const { rowId, given, painted, onChange, label } = props;
  const [height, width] = given.size;
  const [tool, setTool] = useState<Tool>("brush");
  const [size, setSize] = useState(8);
  const pixels = useRef<Uint8Array>(new Uint8Array(0));
  const last = useRef<readonly [number, number] | null>(null);
  const frame = useRef(0);
  /** The mask that the caller received last: any other mask replaces the painted one. */
  const own = useRef<Rle | null>(undefined);

  if (painted !== own.current) {
    own.current = painted;
    // A mask of another size, from a file of rollouts, is shown until the first stroke.
    const fits = painted !== null && painted.size.join() === given.size.join();
    pixels.current = fits ? decodeRle(painted) : new Uint8Array(width * height);
  }
  useEffect(() => () => cancelAnimationFrame(frame.current), []);

  const hand = useCallback((): void => {
    const mask = encodeRle(pixels.current, height, width);
    own.current = mask;
    onChange(mask);
  }, [height, width, onChange]);

  const paint = (event: PointerEvent<HTMLDivElement>): void => {
    const box = event.currentTarget.getBoundingClientRect();
    const at = [
      ((event.clientX - box.left) / box.width) * width,
      ((event.clientY - box.top) / box.height) * height,
    ] as const;
    const radius = (size / 200) * Math.max(width, height);
    paintLine(pixels.current, width, height, last.current ?? at, at, radius, tool === "brush" ? 1 : 0);
    last.current = at;
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(hand);
  };
  const replace = (next: Uint8Array): void => {
    pixels.current = next;
    hand();
  };

  const layers = [
    { role: "given" as const, mask: given },
    ...(painted === null ? [] : [{ role: "partner" as const, mask: painted }]),
  ];
  return (
    <div className="grid gap-2">
      <div className={`relative ${styles.canvas}`}>
        <MaskFigure strip rowId={rowId} width={width} height={height} layers={layers} label={label} />
        <div
          className={`absolute ${styles.paper}`}
          data-testid="mask-paper"
          onPointerDown={(event) => {
            event.currentTarget.setPointerCapture(event.pointerId);
            last.current = null;
            paint(event);
          }}
          onPointerMove={(event) => {
            if (event.currentTarget.hasPointerCapture(event.pointerId)) paint(event);
          }}
        />
      </div>
      <div className="row wrap gap-2">
        <Segmented
          label="Tool"
          options={[
            { value: "brush", label: "Paint" },
            { value: "eraser", label: "Erase" },
          ]}
          value={tool}
          onChange={setTool}
        />
        <div className={`row gap-3 muted grow ${styles.size}`}>
          Size
          <Slider label="Brush size" value={size} min={1} max={40} step={1} onChange={setSize} />
        </div>
      </div>
      <div className="row wrap gap-2">
        <Button onClick={() => replace(decodeRle(given))}>Reset to given</Button>
        <Button onClick={() => replace(grown(pixels.current, width, height, 1))}>Grow</Button>
        <Button onClick={() => replace(grown(pixels.current, width, height, -1))}>Shrink</Button>
        <Button onClick={() => replace(new Uint8Array(width * height))}>Clear</Button>
        <Button onClick={() => replace(new Uint8Array(width * height).fill(1))}>Fill</Button>
      </div>
    </div>
  );
}

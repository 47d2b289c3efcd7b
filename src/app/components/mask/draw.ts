import { Lru } from "../../../engine/bytes/collections.ts";
import { traceOutlines } from "../../../engine/data/mask/outline.ts";
import { decodeRle, type Rle } from "../../../engine/data/mask/rle.ts";
import { LAYER_COLOURS, type MaskLayer } from "./layers.ts";
import type { OverlayMode } from "./overlay-store.ts";
import type { View } from "./use-gestures.ts";

export interface Drawing {
  readonly picture: ImageBitmap | null;
  /** Whether the picture is that of `frame` alone, not of the whole strip. */
  readonly oneFrame?: boolean;
  /** Size of the picture in pixels. */
  readonly width: number;
  readonly height: number;
  /** Shows one frame of a strip of frames below each other; absent for the whole picture. */
  readonly frame?: Frame | undefined;
  /** Draws the outlines of the frames before and after over the frame. */
  readonly onion?: boolean;
  readonly layers: readonly MaskLayer[];
  /** Draws hit, missed and extra pixels of the second mask against the first instead of the layers. */
  readonly difference: readonly [Rle, Rle] | null;
  readonly mode: OverlayMode;
  readonly opacity: number;
  readonly view: View;
  readonly fit: "contain" | "cover";
  /** Device pixels per CSS pixel. */
  readonly ratio: number;
}

/** Frame `at` of `of`. */
export interface Frame {
  readonly at: number;
  readonly of: number;
}

const WHOLE: Frame = { at: 0, of: 1 };

/** Where the picture lies on the canvas: scale in device pixels per picture pixel, and the corner. */
interface Placement {
  readonly scale: number;
  readonly left: number;
  readonly top: number;
}

/** A canvas, what is drawn on it, and where. */
interface Pen {
  readonly context: CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;
  readonly drawing: Drawing;
  readonly place: Placement;
}

/** Draws picture and masks; all sizes in device pixels. */
export function drawFigure(context: CanvasRenderingContext2D, drawing: Drawing): void {
  const { canvas } = context;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, canvas.width, canvas.height);
  const { frame = WHOLE } = drawing;
  const shown = placement(canvas.width, canvas.height, { ...drawing, height: drawing.height / frame.of });
  const side = (drawing.height / frame.of) * shown.scale;
  context.save();
  context.beginPath();
  context.rect(shown.left, shown.top, drawing.width * shown.scale, side);
  context.clip();
  const penAt = (at: number): Pen => ({ context, drawing, place: { ...shown, top: shown.top - at * side } });
  drawStrip(penAt(frame.at));
  if (drawing.onion === true && drawing.mode !== "off") {
    for (const { by, dash } of NEIGHBOURS) {
      const at = frame.at + by;
      if (at < 0 || at >= frame.of) continue;
      for (const { role, mask, colour } of drawing.layers) {
        drawDashed(penAt(at), shapeOf(mask), colour ?? LAYER_COLOURS[role], dash);
      }
    }
  }
  context.restore();
}

/** Frames of the onion skin with their dashes in CSS pixels: the one before is dashed, the one after dotted. */
const NEIGHBOURS = [
  { by: -1, dash: [6, 3] },
  { by: 1, dash: [1.5, 3] },
] as const;

function drawStrip(pen: Pen): void {
  const { context, drawing, place } = pen;
  if (drawing.picture !== null) {
    context.imageSmoothingEnabled = place.scale < 4;
    context.imageSmoothingQuality = "high";
    const { at, of } = drawing.oneFrame === true ? (drawing.frame ?? WHOLE) : WHOLE;
    const side = (drawing.height / of) * place.scale;
    context.drawImage(drawing.picture, place.left, place.top + at * side, drawing.width * place.scale, side);
    if (place.scale >= 14) drawPixelGrid(pen);
  }
  if (drawing.mode === "off") return;
  if (drawing.difference === null) drawLayers(pen);
  else drawDifference(pen, drawing.difference);
}

function placement(canvasWidth: number, canvasHeight: number, drawing: Drawing): Placement {
  const [fitX, fitY] = [canvasWidth / drawing.width, canvasHeight / drawing.height];
  const whole = drawing.fit === "cover" ? Math.max(fitX, fitY) : Math.min(fitX, fitY);
  const scale = whole * drawing.view.zoom;
  const along = (canvas: number, side: number, middle: number): number => {
    const free = canvas - side * scale;
    // A side that fits is centred; a longer one follows the view.
    return free >= 0 ? free / 2 : Math.min(0, Math.max(free, canvas / 2 - middle * side * scale));
  };
  return {
    scale,
    left: along(canvasWidth, drawing.width, drawing.view.x),
    top: along(canvasHeight, drawing.height, drawing.view.y),
  };
}

/** Fills are drawn at full opacity on a separate canvas and composited once, so that overlapping layers do not darken. */
function drawLayers(pen: Pen): void {
  const { drawing } = pen;
  const layers = drawing.layers.map(({ role, mask, colour, faint = false }) => ({
    colour: colour ?? LAYER_COLOURS[role],
    shape: shapeOf(mask),
    given: role === "given",
    faint,
  }));
  const drawn = layers.filter(({ faint }) => !faint);
  if (drawing.mode === "fill") {
    onSheet(pen, drawing.opacity, (sheet, inShape) => {
      drawn.forEach(({ colour, shape }, index) => {
        sheet.fillStyle = colour;
        inShape(shape, () => {
          sheet.globalCompositeOperation = "source-atop";
          sheet.globalAlpha = 1 / (index + 1);
          sheet.fill(shape.path, "evenodd");
          sheet.globalCompositeOperation = "destination-over";
          sheet.globalAlpha = 1;
          sheet.fill(shape.path, "evenodd");
        });
      });
    });
  }
  if (drawing.mode === "contour") dimSurround(pen, drawn);
  for (const { colour, shape } of layers.filter(({ faint }) => faint)) drawDashed(pen, shape, colour, [3, 3]);
  drawContours(pen, drawn);
}

/** A broken line of one CSS pixel over a soft dark one, so that it shows on any background and hides little. */
function drawDashed(pen: Pen, shape: Shape, colour: string, dash: readonly number[]): void {
  const { context } = pen;
  inImage(pen, shape, (width) => {
    context.lineJoin = "round";
    context.strokeStyle = "rgba(0, 0, 0, 0.35)";
    context.lineWidth = 2 * width;
    context.stroke(shape.path);
    context.globalAlpha = 0.75;
    context.setLineDash(dash.map((length) => length * width));
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.stroke(shape.path);
  });
}

/** Share of the opacity that darkens: 20 % at the usual 50 %, so that photographs stay readable. */
const DIMMING = 0.4;

/** Darkens the picture outside the masks, so that a mask can be read over an object of any colour. */
function dimSurround(pen: Pen, masks: readonly { readonly shape: Shape }[]): void {
  const { drawing, place } = pen;
  if (!masks.some(({ shape }) => shape.area > 0)) return;
  onSheet(pen, DIMMING * drawing.opacity, (sheet, inShape) => {
    sheet.fillStyle = "#000000";
    sheet.fillRect(place.left, place.top, drawing.width * place.scale, drawing.height * place.scale);
    sheet.globalCompositeOperation = "destination-out";
    for (const { shape } of masks) inShape(shape, () => sheet.fill(shape.path, "evenodd"));
    sheet.globalCompositeOperation = "source-over";
  });
}

function drawDifference(pen: Pen, [given, other]: readonly [Rle, Rle]): void {
  const { drawing } = pen;
  const parts = differenceOf(given, other);
  if (drawing.mode === "fill") {
    onSheet(pen, Math.min(1, drawing.opacity * 1.5), (sheet, inShape) => {
      const fills = [
        [parts.hit, "rgba(255, 255, 255, 0.45)", null],
        [parts.missed, `${LAYER_COLOURS.missed}99`, hatch(sheet, LAYER_COLOURS.missed, drawing.ratio, "/")],
        [parts.extra, `${LAYER_COLOURS.extra}99`, hatch(sheet, LAYER_COLOURS.extra, drawing.ratio, "\\")],
      ] as const;
      for (const [shape, colour, pattern] of fills) {
        inShape(shape, () => {
          sheet.fillStyle = colour;
          sheet.fill(shape.path, "evenodd");
          if (pattern === null) return;
          // Patterns are anchored to the canvas, so their lines keep the same width at every zoom.
          pattern.setTransform(sheet.getTransform().inverse());
          sheet.fillStyle = pattern;
          sheet.fill(shape.path, "evenodd");
        });
      }
    });
  }
  drawContours(pen, [
    { shape: shapeOf(given), colour: "#FFFFFF", given: true },
    { shape: shapeOf(other), colour: LAYER_COLOURS.extra, given: false },
  ]);
}

/** A mask whose edge is drawn; the line of a given one lies outside of it, others inside, so that equal masks show both. */
interface Contour {
  readonly shape: Shape;
  readonly colour: string;
  readonly given: boolean;
}

/** Widths in CSS pixels. */
const LINE = 1.5;
const GUARD = 0.75;

/** Coloured lines between a dark one outside and a light one inside, so that they show on any background. */
function drawContours(pen: Pen, contours: readonly Contour[]): void {
  const shown = contours.filter(({ shape }) => shape.area > 0);
  for (const { shape, given } of shown) {
    drawBand(pen, shape, "outside", "rgba(0, 0, 0, 0.85)", GUARD + (given ? LINE : 0));
    drawBand(pen, shape, "inside", "rgba(255, 255, 255, 0.8)", GUARD + (given ? 0 : LINE));
  }
  for (const { shape, colour, given } of shown) drawBand(pen, shape, given ? "outside" : "inside", colour, LINE);
}

/** A line of `reach` CSS pixels along one side of a mask's edge. */
function drawBand(pen: Pen, shape: Shape, side: "outside" | "inside", colour: string, reach: number): void {
  const { context } = pen;
  inImage(pen, shape, (width) => {
    const clip = new Path2D(shape.path);
    if (side === "outside") clip.rect(-1e5, -1e5, 2e5, 2e5);
    context.clip(clip, "evenodd");
    context.lineJoin = "round";
    context.strokeStyle = colour;
    context.lineWidth = 2 * reach * width;
    context.stroke(shape.path);
  });
}

/** Runs `draw` in the coordinates of a mask; `width` is one CSS pixel there. */
function inImage({ context, drawing, place }: Pen, shape: Shape, draw: (width: number) => void): void {
  const scaleX = (place.scale * drawing.width) / shape.width;
  const scaleY = (place.scale * drawing.height) / shape.height;
  context.save();
  context.setTransform(scaleX, 0, 0, scaleY, place.left, place.top);
  draw(drawing.ratio / Math.max(scaleX, scaleY));
  context.restore();
}

let sheetCanvas: OffscreenCanvas | null = null;

/** Composites what `draw` draws on a separate canvas; `inShape` is `inImage` there. */
function onSheet(
  pen: Pen,
  opacity: number,
  draw: (sheet: OffscreenCanvasRenderingContext2D, inShape: (shape: Shape, draw: () => void) => void) => void,
): void {
  const { context } = pen;
  const { width, height } = context.canvas;
  if (sheetCanvas === null || sheetCanvas.width < width || sheetCanvas.height < height) {
    sheetCanvas = new OffscreenCanvas(
      Math.max(width, sheetCanvas?.width ?? 0),
      Math.max(height, sheetCanvas?.height ?? 0),
    );
  }
  const sheet = sheetCanvas.getContext("2d");
  if (sheet === null) return;
  sheet.setTransform(1, 0, 0, 1, 0, 0);
  sheet.clearRect(0, 0, width, height);
  draw(sheet, (shape, fill) => inImage({ ...pen, context: sheet }, shape, fill));
  context.globalAlpha = opacity;
  context.drawImage(sheetCanvas, 0, 0, width, height, 0, 0, width, height);
  context.globalAlpha = 1;
}

function hatch(
  context: OffscreenCanvasRenderingContext2D,
  colour: string,
  ratio: number,
  slant: "/" | "\\",
): CanvasPattern | null {
  const side = Math.round(7 * ratio);
  const tile = new OffscreenCanvas(side, side);
  const pen = tile.getContext("2d");
  if (pen === null) return null;
  pen.lineWidth = 1.6 * ratio;
  for (const [ink, shift] of [
    ["rgba(255, 255, 255, 0.75)", 0],
    [colour, 1.6 * ratio],
  ] as const) {
    pen.strokeStyle = ink;
    for (const offset of [-side, 0, side]) {
      pen.beginPath();
      pen.moveTo(offset + shift, slant === "/" ? side : 0);
      pen.lineTo(offset + side + shift, slant === "/" ? 0 : side);
      pen.stroke();
    }
  }
  return context.createPattern(tile, "repeat");
}

function drawPixelGrid({ context, drawing, place }: Pen): void {
  const { width, height } = context.canvas;
  context.beginPath();
  for (let x = 0; x <= drawing.width; x++) {
    const at = Math.round(place.left + x * place.scale) + 0.5;
    if (at < 0 || at > width) continue;
    context.moveTo(at, Math.max(0, place.top));
    context.lineTo(at, Math.min(height, place.top + drawing.height * place.scale));
  }
  for (let y = 0; y <= drawing.height; y++) {
    const at = Math.round(place.top + y * place.scale) + 0.5;
    if (at < 0 || at > height) continue;
    context.moveTo(Math.max(0, place.left), at);
    context.lineTo(Math.min(width, place.left + drawing.width * place.scale), at);
  }
  context.strokeStyle = "rgba(128, 128, 128, 0.35)";
  context.lineWidth = 1;
  context.stroke();
}

/** A mask ready to be drawn: its outline as a path in image pixels, and its size. */
interface Shape {
  readonly path: Path2D;
  readonly area: number;
  readonly width: number;
  readonly height: number;
}

/** The three parts of a comparison of two masks. */
interface DifferenceShapes {
  /** In both. */
  readonly hit: Shape;
  /** In the given mask only. */
  readonly missed: Shape;
  /** In the other mask only. */
  readonly extra: Shape;
}

/** Enough for the tiles of a few steps; a shape of a photograph takes tens of kilobytes. */
const CAPACITY = 400;

const pixels = new Lru<string, Uint8Array<ArrayBuffer>>(24);
const shapes = new Lru<string, Shape>(CAPACITY);
const differences = new Lru<string, DifferenceShapes>(CAPACITY);

/** Outline and area of a mask, decoded once. @throws LabError("bad-input") when the mask text is broken */
function shapeOf(rle: Rle): Shape {
  return shapes.get(keyOf(rle), () => toShape(decoded(rle), rle.size[1], rle.size[0]));
}

/** Hit, missed and extra pixels of `other` against `given`; both of one size. */
function differenceOf(given: Rle, other: Rle): DifferenceShapes {
  return differences.get(`${keyOf(given)}|${keyOf(other)}`, () => {
    const [height, width] = given.size;
    const [a, b] = [decoded(given), decoded(other)];
    const part = (keep: (inA: boolean, inB: boolean) => boolean): Shape =>
      toShape(
        a.map((value, at) => (keep(value === 1, b[at] === 1) ? 1 : 0)),
        width,
        height,
      );
    return {
      hit: part((inA, inB) => inA && inB),
      missed: part((inA, inB) => inA && !inB),
      extra: part((inA, inB) => !inA && inB),
    };
  });
}

function decoded(rle: Rle): Uint8Array<ArrayBuffer> {
  return pixels.get(keyOf(rle), () => decodeRle(rle));
}

function keyOf(rle: Rle): string {
  return `${rle.size[0]}x${rle.size[1]}:${rle.counts}`;
}

function toShape(mask: Uint8Array<ArrayBuffer>, width: number, height: number): Shape {
  const path = new Path2D();
  for (const outline of traceOutlines(mask, width, height)) {
    for (let at = 0; at < outline.length; at += 2) {
      const [x, y] = [outline[at] as number, outline[at + 1] as number];
      if (at === 0) path.moveTo(x, y);
      else path.lineTo(x, y);
    }
    path.closePath();
  }
  let area = 0;
  for (const value of mask) area += value;
  return { path, area, width, height };
}

/** Copies a drawn canvas with its title and legend to the clipboard, as a PNG picture in the colours of the theme. */
import { LabError } from "../../../engine/errors.ts";

const MARGIN = 16;
const LINE = 20;

/**
 * @param lines of text below the title
 * @throws LabError("unsupported") when the browser takes no pictures into its clipboard
 */
export async function copyPicture(canvas: HTMLCanvasElement, title: string, lines: readonly string[]): Promise<void> {
  const blob = await pictureOf(canvas, title, lines);
  try {
    await navigator.clipboard.write([new ClipboardItem({ "image/png": blob })]);
  } catch (cause) {
    throw new LabError("unsupported", "The browser refused to copy the picture; click into the page and try again", {
      cause,
    });
  }
}

/** The canvas below its title and lines, at its own resolution. */
async function pictureOf(canvas: HTMLCanvasElement, title: string, lines: readonly string[]): Promise<Blob> {
  const ratio = canvas.clientWidth === 0 ? 1 : canvas.width / canvas.clientWidth;
  const top = MARGIN + LINE * (1 + lines.length);
  const style = getComputedStyle(document.documentElement);
  const page = document.createElement("canvas");
  page.width = canvas.width + 2 * MARGIN * ratio;
  page.height = canvas.height + (top + MARGIN) * ratio;
  const context = page.getContext("2d");
  if (context === null) throw new LabError("unsupported", "The browser has no canvas to draw the picture on");
  context.scale(ratio, ratio);
  context.fillStyle = style.getPropertyValue("--chart-ground");
  context.fillRect(0, 0, page.width, page.height);
  context.textBaseline = "top";
  context.fillStyle = style.getPropertyValue("--text");
  context.font = `600 15px ${style.getPropertyValue("--font")}`;
  context.fillText(title, MARGIN, MARGIN);
  context.font = `13px ${style.getPropertyValue("--font")}`;
  context.fillStyle = style.getPropertyValue("--text-muted");
  for (const [at, line] of lines.entries()) context.fillText(line, MARGIN, MARGIN + LINE * (at + 1));
  context.drawImage(canvas, MARGIN, top, canvas.width / ratio, canvas.height / ratio);
  const blob = await new Promise<Blob | null>((resolve) => page.toBlob(resolve, "image/png"));
  if (blob === null) throw new LabError("unsupported", "The picture is too large for the browser");
  return blob;
}

/** A page inside a frame of another could be clicked without being seen; hosts that send no headers cannot forbid it. */

/**
 * Whether the page lies in a frame. It then shows a link to itself in a tab of its own and nothing else.
 * @param root where the page is drawn
 */
export function refuseFrame(root: HTMLElement | null): boolean {
  if (window.top === window.self) return false;
  const link = document.createElement("a");
  link.href = location.href;
  link.target = "_blank";
  link.rel = "noopener";
  link.textContent = "Open sa2va-lab in a tab of its own: it does not run inside another page";
  root?.replaceChildren(link);
  return true;
}

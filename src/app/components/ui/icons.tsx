/** Line icons, 16 px, drawn for this project; they take the text colour and are hidden from screen readers. */
import type { ReactNode } from "react";

function Icon(props: { readonly children: ReactNode; readonly size?: number }): ReactNode {
  const size = props.size ?? 16;
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      {props.children}
    </svg>
  );
}

const path = (d: string) => (props: { readonly size?: number }) => (
  <Icon {...props}>
    <path d={d} />
  </Icon>
);
const solid = (d: string) => (props: { readonly size?: number }) => (
  <Icon {...props}>
    <path d={d} fill="currentColor" />
  </Icon>
);

export const IconClose = path("M4 4l8 8M12 4l-8 8");
export const IconPlay = solid("M5 3.5v9l7-4.5z");
export const IconPause = path("M5.5 3.5v9M10.5 3.5v9");
export const IconStep = path("M4 3.5v9l6-4.5zM12.5 3.5v9");
/** One part of a step, as in the bar of phases. */
export const IconPhase = (props: { readonly size?: number }): ReactNode => (
  <Icon {...props}>
    <path d="M1.5 5.5h13v5h-13zM6 5.5v5M10.5 5.5v5" />
    <path d="M6 5.5h4.5v5H6z" fill="currentColor" />
  </Icon>
);
export const IconSave = path("M2.5 2.5h8.5l2.5 2.5v8.5h-11zM5 2.5v3.3h5v-3.3M4.8 13.5v-4.5h6.4v4.5");
export const IconCheck = path("M3 8.5l3.2 3.2L13 4.8");
export const IconStop = solid("M4.5 4.5h7v7h-7z");
export const IconData = path(
  "M2.5 4c0-1.1 2.5-2 5.5-2s5.5.9 5.5 2-2.5 2-5.5 2-5.5-.9-5.5-2zv8c0 1.1 2.5 2 5.5 2s5.5-.9 5.5-2V4M2.5 8c0 1.1 2.5 2 5.5 2s5.5-.9 5.5-2",
);
export const IconSetup = path(
  "M2 5h7M13 5h1M2 11h1M7 11h7M11 3.2a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6zM5 9.2a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6z",
);
export const IconTrain = path("M2 2v12h12M4.5 10.5l3-3.5 2.5 2 4-5.5");
export const IconRewards = path("M8 1.8l1.9 3.9 4.3.6-3.1 3 .7 4.3L8 11.6l-3.8 2 .7-4.3-3.1-3 4.3-.6z");
export const IconRuns = path("M8 4.5V8l2.5 1.5M2.5 8a5.5 5.5 0 1 0 1.7-4M2.5 2.5v2.2h2.2");
export const IconSystem = path(
  "M4.5 4.5h7v7h-7zM6.5 6.5h3v3h-3zM6 2v2.5M10 2v2.5M6 11.5V14M10 11.5V14M2 6h2.5M2 10h2.5M11.5 6H14M11.5 10H14",
);
export const IconBoth = path("M8 2.5a5.5 5.5 0 1 1 0 11a5.5 5.5 0 0 1 0-11zM8 2.5v11M10.5 4v8");
export const IconSun = path(
  "M8 5a3 3 0 1 1 0 6a3 3 0 0 1 0-6zM8 1.2v1.6M8 13.2v1.6M1.2 8h1.6M13.2 8h1.6M3.2 3.2l1.1 1.1M11.7 11.7l1.1 1.1M12.8 3.2l-1.1 1.1M4.3 11.7l-1.1 1.1",
);
export const IconMoon = path("M13 9.5A5.5 5.5 0 1 1 6.5 3a4.5 4.5 0 0 0 6.5 6.5z");
export const IconWarning = path("M8 2.5l6 10.5H2zM8 6.5v3M8 11.3v.2");
export const IconKeys = path("M1.5 4h13v8h-13zM4 6.5h.1M6.7 6.5h.1M9.3 6.5h.1M12 6.5h.1M5 9.5h6");
export const IconReset = path("M3 8a5 5 0 1 1 1.6 3.7M3 12.5V9.3h3.2");
export const IconFolder = path("M1.5 4V12.5h13V5.5H8L6.5 3.5h-5z");
export const IconFile = path("M4 1.5h5l3.5 3.5v9.5H4zM9 1.5V5h3.5");
export const IconChevron = path("M6 4l4 4-4 4");
export const IconBack = path("M10 4l-4 4 4 4");
export const IconDown = path("M4 6l4 4 4-4");
export const IconGlobe = path("M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2ZM2 8h12M8 2c4 4 4 8 0 12M8 2c-4 4-4 8 0 12");
export const IconEnlarge = path("M9.5 2.5h4v4M6.5 13.5h-4v-4M13.5 2.5l-4.5 4.5M2.5 13.5l4.5-4.5");
export const IconCopy = path("M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3");
export const IconMore = solid("M3 8h.5M7.8 8h.5M12.6 8h.5");

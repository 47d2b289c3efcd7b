import type { ReactNode } from "react";

/** Numbers with their names, side by side. */
export function Facts({ entries }: { readonly entries: readonly (readonly [string, ReactNode])[] }): ReactNode {
  return (
    <dl className="flex wrap gap-2-4 mt-2">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt className="muted small">{name}</dt>
          <dd className="large bold">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

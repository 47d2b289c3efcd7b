import type { ReactNode } from "react";

interface Heading {
  readonly label: string;
  readonly title?: string;
  readonly className?: string | undefined;
}

/** The head of a table, one column heading each. */
export function TableHead({ columns }: { readonly columns: readonly (string | Heading)[] }): ReactNode {
  return (
    <thead>
      <tr>
        {columns.map((column, at) => {
          const { label, ...rest } = typeof column === "string" ? { label: column } : column;
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: two columns may have the same heading
            <th key={at} scope="col" {...rest}>
              {label}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

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
        {columns.map((column) => {
          const { label, ...rest } = typeof column === "string" ? { label: column } : column;
          return (
            <th key={label} scope="col" {...rest}>
              {label}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

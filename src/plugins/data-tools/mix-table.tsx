import { type ReactNode, useMemo } from "react";
import { Panel } from "../../app/components/ui/panel/panel.tsx";
import { TableHead } from "../../app/components/ui/table.tsx";
import { useSession } from "../../app/stores/session.ts";
import { formatCount, formatShare } from "../../app/styles/format.ts";
import { type SourceShare, sourceShares } from "../../engine/data/sources.ts";
import { toLabError } from "../../engine/errors.ts";

/** Rows of each source of the mix and its expected share of the prompts; nothing without a mix. */
export default function MixTable(): ReactNode {
  const { mixSources, mixBy } = useSession((session) => session.config);
  const rows = useSession((session) => session.rows);
  const found = useMemo((): readonly SourceShare[] | string => {
    try {
      const ids = rows.map(({ id }) => id);
      return sourceShares(mixSources, mixBy, ids);
    } catch (thrown) {
      return toLabError(thrown).message;
    }
  }, [mixSources, mixBy, rows]);
  if (found.length === 0) return null;
  return (
    <Panel title="Mix">
      {typeof found === "string" ? (
        <p className="bad">{found}</p>
      ) : (
        <table className="small" data-testid="mix">
          <TableHead columns={["Source", "Rows", mixBy === "weights" ? "Weight" : "Repeats", "Prompts"]} />
          <tbody>
            {found.map(({ name, amount, rows: count, share }) => (
              <tr key={name}>
                <th scope="row">{name === "*" ? "other files" : name}</th>
                <td>{formatCount(count)}</td>
                <td>{amount}</td>
                <td>{formatShare(share)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}

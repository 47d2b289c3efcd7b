import { type FormEvent, type ReactNode, useState } from "react";
import { chooseFolder } from "../../clients/choose-folder.ts";
import { report } from "../../clients/lab.ts";
import { followRuns } from "../../clients/run/follow-run.ts";
import { Button } from "../../components/ui/button.tsx";

const FOLDER_INSTEAD = "drop the run's folder to see its current state once";

/**
 * Opens runs where they are computed: behind an address, or in a folder that grows. The token stays in the worker that
 * reads.
 */
export function OpenAddress(): ReactNode {
  const [address, setAddress] = useState("");
  const [token, setToken] = useState("");
  const [opening, setOpening] = useState(false);
  const open = async (): Promise<void> => {
    setOpening(true);
    try {
      await followRuns(address, token.trim());
      setToken("");
    } finally {
      setOpening(false);
    }
  };
  const openFolder = async (): Promise<void> => followRuns(await chooseFolder("read", FOLDER_INSTEAD));
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    report(open());
  };
  return (
    <form className="row wrap gap-2" onSubmit={submit} data-testid="open-address">
      <input
        aria-label="Address of a run"
        placeholder="http://127.0.0.1:8765"
        value={address}
        onChange={(event) => setAddress(event.target.value)}
        required
      />
      <input
        aria-label="Token"
        placeholder="Token"
        type="password"
        autoComplete="off"
        value={token}
        onChange={(event) => setToken(event.target.value)}
      />
      <Button type="submit" disabled={opening || address.trim() === ""}>
        Open run from address
      </Button>
      <Button
        title="Shows one run or a folder of runs, for example on a shared disk, and reads it again while it grows"
        onClick={() => report(openFolder())}
      >
        Follow a folder…
      </Button>
    </form>
  );
}

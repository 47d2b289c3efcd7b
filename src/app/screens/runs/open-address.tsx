import { type FormEvent, type ReactNode, useState } from "react";
import { report } from "../../clients/lab.ts";
import { followRun } from "../../clients/run/follow-run.ts";
import { Button } from "../../components/ui/button.tsx";

/** Opens a run behind an address. The token stays in the worker that reads. */
export function OpenAddress(): ReactNode {
  const [address, setAddress] = useState("");
  const [token, setToken] = useState("");
  const [opening, setOpening] = useState(false);
  const open = async (): Promise<void> => {
    setOpening(true);
    try {
      await followRun(address, token.trim());
      setToken("");
    } finally {
      setOpening(false);
    }
  };
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
    </form>
  );
}

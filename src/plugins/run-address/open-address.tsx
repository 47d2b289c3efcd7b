import { type FormEvent, type ReactNode, useState } from "react";
import { pluginCalls, report } from "../../app/clients/lab.ts";
import { Button } from "../../app/components/ui/button.tsx";
import { TextInput } from "../../app/components/ui/controls.tsx";
import { PanelButton } from "../../app/components/ui/panel/panel-button.tsx";
import { jobKind, startJob, useRunning } from "../../app/stores/jobs.ts";
import { navigate } from "../../app/stores/route.ts";
import { addElsewhere } from "../../app/stores/session.ts";
import type { RunAddressCalls } from "./address-store.ts";

const OPEN = jobKind<true, string>("opening of a run by its address");

/** The run of a server by its address. The token stays in the worker that reads. */
export default function OpenAddress(): ReactNode {
  const [address, setAddress] = useState("");
  const [token, setToken] = useState("");
  const opening = useRunning(OPEN) !== null;
  const open = async (): Promise<void> => {
    const call = () => pluginCalls<RunAddressCalls>("data").follow(address, token.trim());
    const run = await startJob(OPEN, true, call);
    addElsewhere(run, "address");
    navigate({ screen: "train", run, step: null, rollout: null });
    setToken("");
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    report(open());
  };
  return (
    <PanelButton label="Open from address" title="Run of another machine" testId="open-run-address" arrow>
      <form className="grid gap-2" onSubmit={submit} data-testid="open-address">
        <TextInput
          aria-label="Address of a run"
          placeholder="http://127.0.0.1:8765"
          value={address}
          onChange={(event) => setAddress(event.target.value)}
          required
        />
        <TextInput
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
    </PanelButton>
  );
}

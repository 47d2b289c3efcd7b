import { Component, type ReactNode } from "react";
import { thrownText } from "../../../engine/errors.ts";
import { Button } from "./button.tsx";
import { Empty } from "./panel/panel.tsx";

interface Props {
  readonly children: ReactNode;
}

interface State {
  readonly message: string | null;
}

/** Shows the error of a screen that fails to render; other screens and the run continue. */
export class ErrorBoundary extends Component<Props, State> {
  override readonly state: State = { message: null };

  static getDerivedStateFromError(thrown: unknown): State {
    return { message: thrownText(thrown) };
  }

  override render(): ReactNode {
    if (this.state.message === null) return this.props.children;
    return (
      <Empty
        title="This screen failed"
        actions={<Button onClick={() => this.setState({ message: null })}>Try again</Button>}
      >
        {this.state.message}; the run is not affected
      </Empty>
    );
  }
}

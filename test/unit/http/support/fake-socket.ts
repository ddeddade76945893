/** The gateway's end of a socket to a session, played by a test. */
export class FakeSocket extends EventTarget {
  readonly closed: { code: number | undefined; reason: string | undefined }[] = [];
  accepted = false;
  /** Runs once the gateway listens; nothing is delivered before that. */
  onAccept: () => void = () => {};

  accept(): void {
    this.accepted = true;
    this.onAccept();
  }

  close(code?: number, reason?: string): void {
    this.closed.push({ code, reason });
  }

  /** A message from the session. */
  say(text: string): void {
    this.dispatchEvent(Object.assign(new Event("message"), { data: text }));
  }

  /** The session's end is closed. */
  end(code: number): void {
    this.dispatchEvent(Object.assign(new Event("close"), { code, reason: "" }));
  }

  /** The gateway uses only what is played here. */
  asSocket(): WebSocket {
    return this as unknown as WebSocket;
  }
}

/** A named point that a test can hold: who comes waits until the test opens it. */
export interface Gate {
  /** Resolves when somebody has come. */
  readonly reached: Promise<void>;
  /** What the held side awaits. */
  readonly wait: () => Promise<void>;
  /** Lets through who waits and who comes later. */
  readonly open: () => void;
}

export function createGate(): Gate {
  let arrive = (): void => undefined;
  let open = (): void => undefined;
  const reached = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return {
    reached,
    wait() {
      arrive();
      return opened;
    },
    open: () => open(),
  };
}

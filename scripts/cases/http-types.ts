/** A case of `http.json`; the fields are explained beside the file. */
export type HttpCase = {
  readonly id: string;
  readonly category: string;
  readonly why: string;
  readonly config?: CaseConfig;
  readonly steps?: readonly string[];
  readonly provider?: CaseProvider;
  readonly request: CaseRequest;
  readonly repeat?: number;
  readonly parallel?: number;
  readonly expect: CaseExpectation;
};

export type CaseConfig = { readonly bearer?: string; readonly cors?: string; readonly rate?: number };

/** What the stub model answers: text deltas, or one tool call whose output is given. */
export type CaseProvider = {
  readonly text?: readonly string[];
  readonly tool?: { readonly name: string; readonly output: string };
};

type Pieces = readonly (readonly [string, number])[];

export type CaseRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly headersBuild?: Readonly<Record<string, Pieces>>;
  readonly body?: string;
  readonly bodyBuild?: Pieces;
  readonly bodyHex?: string;
  readonly jsonBuild?: Readonly<Record<string, Pieces>>;
  readonly gzip?: boolean;
  /** No length header. */
  readonly stream?: boolean;
  readonly raw?: boolean;
  readonly pathAsIs?: boolean;
};

export type CaseExpectation = {
  readonly status?: number;
  readonly statusIn?: readonly number[];
  readonly lastStatus?: number;
  readonly statuses?: readonly number[];
  readonly errorType?: string;
  readonly message?: string;
  readonly bodyKeys?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly noHeader?: string;
  readonly headerPattern?: Readonly<Record<string, string>>;
  readonly vary?: string;
  readonly stream?: boolean;
  readonly events?: Readonly<Record<string, number>>;
  readonly joinedText?: string;
  readonly noPollution?: boolean;
  readonly maxMs?: number;
};

/** A running server, whatever it is made of. */
export type CaseServer = {
  /** Without a slash at the end; a loopback address. */
  readonly baseUrl: string;
  stop(): Promise<void>;
  /** Makes the stub model answer so from now on; absent where there is no model. */
  readonly scriptProvider?: (provider: CaseProvider) => Promise<void>;
  /** Parks a permission request in the session and answers its id. */
  readonly park?: (sessionId: string) => Promise<string>;
};

export type CaseHarness = { start(config: Required<CaseConfig>): Promise<CaseServer> };

/** `failures` is empty when the case holds; `skipped` says what the server cannot do. */
export type CaseOutcome = { readonly id: string; readonly failures: readonly string[]; readonly skipped?: string };

export type Reply = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly ms: number;
};

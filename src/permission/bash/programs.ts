import type { OptionSpec } from "./options.ts";

/** A program that only reads, with the options it may get. */
export type Program = OptionSpec & {
  /** What operands are: files to read, text, nothing at all, or a first pattern and then files. */
  readonly operands: "paths" | "text" | "none" | "pattern-paths";
  /** More operands than this would mean something else (an output file). */
  readonly max?: number;
  /** A literal first operand must match. */
  readonly first?: RegExp;
  /** Words that must not appear, for programs that can be asked for credentials. */
  readonly never?: RegExp;
  /** Options after which the first operand is no pattern (`grep -e`). */
  readonly patternOptions?: readonly string[];
};

const COMMON = "help version";
const SUMS: Program = {
  operands: "paths",
  flags: "bctwz",
  long: `binary check text tag zero quiet status strict warn ${COMMON}`,
};
const GREP: Program = {
  operands: "pattern-paths",
  flags: "abcEFGhHiIlLnoPqrRsTUvVwxyzZ",
  values: "ABCDdefm",
  numeric: true,
  paths: ["-f", "--file"],
  globs: ["--include"],
  patternOptions: ["-e", "-f", "--regexp", "--file"],
  long: `${COMMON} extended-regexp fixed-strings basic-regexp perl-regexp regexp= file= ignore-case no-ignore-case invert-match word-regexp line-regexp count color? colour? files-without-match files-with-matches max-count= only-matching quiet silent no-messages byte-offset with-filename no-filename label= line-number initial-tab null after-context= before-context= context= text binary-files= devices= directories= exclude= exclude-dir= include= recursive dereference-recursive line-buffered null-data`,
};
const VERSIONED: Program = { operands: "none", max: 0 };

/**
 * How each program is asked for its version. Only what is known of it: `python -v` reads a script, `make version` makes a
 * target of that name and `curl version` asks a host of that name.
 */
const VERSIONS = (
  [
    [
      /^--version$/,
      "node npm npx yarn pnpm bun deno python python2 python3 pip pip3 ruby gem perl php java javac mvn gradle cargo rustc rustup gcc g++ clang make cmake docker terraform tsc eslint prettier vitest jest wrangler uv poetry dotnet swift curl wget tar gzip bash zsh psql mysql sqlite3 gh aws gcloud az ansible vim nano emacs fd zip less man sudo",
    ],
    [
      /^-v$/,
      "node npm npx yarn pnpm bun perl php ruby gem docker gcc g++ clang make mvn gradle terraform tsc eslint prettier vitest jest wrangler",
    ],
    [/^-V$/, "python python2 python3 pip pip3 cargo rustc rustup curl wget ssh uv poetry deno tmux psql mysql perl"],
    [/^-version$/, "java javac sqlite3"],
    [/^version$/, "npm go cargo docker terraform helm gh openssl uv"],
  ] as const
).map(([flag, names]) => ({ flag, names: new Set<string>(names.split(" ")) }));

/** True for the question for a version or for help, which must be the only word and starts nothing else. */
export function asksForVersion(name: string, words: readonly (string | undefined)[]): boolean {
  const [word, ...more] = words;
  if (word === undefined || more.length > 0) return false;
  if (VERSIONS.some(({ flag, names }) => flag.test(word) && names.has(name))) return true;
  return OWN_QUESTIONS.test(name) && /^--(version|help)$/.test(word);
}
const OWN_QUESTIONS = /^(sed|g?awk|mawk|jq|find|xargs|env|timeout|nice|stdbuf|unzip|tee|bunzip2|bzip2|xz|zstd)$/;

export const PROGRAMS: ReadonlyMap<string, Program> = new Map<string, Program>([
  ["[", { operands: "text" }],
  ["arch", VERSIONED],
  ["base32", { operands: "paths", flags: "di", values: "w", long: `decode ignore-garbage wrap= ${COMMON}` }],
  ["base64", { operands: "paths", flags: "diD", values: "w", long: `decode ignore-garbage wrap= ${COMMON}` }],
  ["b2sum", { ...SUMS, values: "l" }],
  ["basename", { operands: "text", flags: "az", values: "s", long: `multiple suffix= zero ${COMMON}` }],
  ["bc", { operands: "paths", flags: "lqs", long: `mathlib quiet standard ${COMMON}` }],
  ["bzcat", { operands: "paths" }],
  ["cal", { operands: "text", flags: "13jmsy", numeric: true }],
  [
    "cat",
    {
      operands: "paths",
      flags: "AbeEnstTuv",
      long: `show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting ${COMMON}`,
    },
  ],
  ["cksum", { operands: "paths", values: "a", long: `algorithm= ${COMMON}` }],
  [
    "cmp",
    {
      operands: "paths",
      flags: "bls",
      values: "in",
      long: `print-bytes ignore-initial= verbose bytes= quiet silent ${COMMON}`,
      max: 2,
    },
  ],
  [
    "column",
    {
      operands: "paths",
      flags: "txne",
      values: "csNHRTo",
      long: "table separator= output-separator= table-columns= fillrows",
    },
  ],
  [
    "comm",
    {
      operands: "paths",
      flags: "123iz",
      max: 2,
      long: `check-order nocheck-order output-delimiter= total zero-terminated ${COMMON}`,
    },
  ],
  [
    "cut",
    {
      operands: "paths",
      flags: "nsz",
      values: "bcdf",
      long: `bytes= characters= delimiter= fields= complement only-delimited output-delimiter= zero-terminated ${COMMON}`,
    },
  ],
  [
    "date",
    {
      operands: "text",
      first: /^\+/,
      flags: "uR",
      attached: "I",
      values: "dr",
      paths: ["-r", "--reference"],
      long: `date= iso-8601? rfc-3339= rfc-email reference= utc universal ${COMMON}`,
    },
  ],
  [
    "df",
    {
      operands: "paths",
      flags: "ahHiklmPT",
      values: "tBx",
      long: `all human-readable si inodes local portability print-type total type= exclude-type= ${COMMON}`,
    },
  ],
  [
    "diff",
    {
      operands: "paths",
      flags: "abBcdeEHiNnpqrstTuwyZ",
      values: "CUWxIFL",
      numeric: true,
      max: 2,
      long: `${COMMON} normal brief report-identical-files context? unified? ed rcs side-by-side width= left-column suppress-common-lines show-c-function show-function-line= label= expand-tabs initial-tab recursive no-dereference new-file unidirectional-new-file ignore-file-name-case exclude= ignore-case ignore-tab-expansion ignore-trailing-space ignore-space-change ignore-all-space ignore-blank-lines ignore-matching-lines= text strip-trailing-cr color? minimal speed-large-files`,
    },
  ],
  ["dirname", { operands: "text", flags: "z", long: `zero ${COMMON}` }],
  [
    "du",
    {
      operands: "paths",
      flags: "0abcDhHklLmPsSx",
      values: "dtB",
      long: `all apparent-size bytes total human-readable max-depth= summarize separate-dirs one-file-system threshold= exclude= si null time? block-size= ${COMMON}`,
    },
  ],
  ["echo", { operands: "text" }],
  ["egrep", GREP],
  ["expand", { operands: "paths", flags: "i", values: "t", long: `initial tabs= ${COMMON}` }],
  ["expr", { operands: "text" }],
  ["factor", { operands: "text" }],
  ["false", { operands: "text" }],
  ["fgrep", GREP],
  [
    "file",
    {
      operands: "paths",
      flags: "0bhiIkLNprsz",
      values: "Fe",
      long: `brief mime mime-type mime-encoding separator= no-dereference dereference keep-going raw print0 no-pad extension ${COMMON}`,
    },
  ],
  ["fmt", { operands: "paths", flags: "cstu", values: "wpg", long: `width= ${COMMON}` }],
  ["fold", { operands: "paths", flags: "bs", values: "w", long: `bytes spaces width= ${COMMON}` }],
  ["free", { operands: "none", flags: "bghkmtw", long: `bytes kilo mega giga human total wide ${COMMON}` }],
  ["getconf", { operands: "text" }],
  ["grep", GREP],
  ["groups", { operands: "text" }],
  [
    "head",
    {
      operands: "paths",
      flags: "qvz",
      values: "cn",
      numeric: true,
      long: `bytes= lines= quiet silent verbose zero-terminated ${COMMON}`,
    },
  ],
  ["hexdump", { operands: "paths", flags: "bcCdovx", values: "ens", long: "canonical length= skip= no-squeezing" }],
  [
    "hostname",
    {
      operands: "none",
      flags: "adfiIs",
      long: `all-fqdns all-ip-addresses domain fqdn long ip-address short ${COMMON}`,
    },
  ],
  ["id", { operands: "text", flags: "gGnruz", long: `group groups name real user zero ${COMMON}` }],
  [
    "iconv",
    { operands: "paths", risky: true, flags: "lcs", values: "ft", long: `list from-code= to-code= silent ${COMMON}` },
  ],
  [
    "join",
    {
      operands: "paths",
      flags: "iz",
      values: "aeojtv12",
      max: 2,
      long: `ignore-case check-order nocheck-order header zero-terminated ${COMMON}`,
    },
  ],
  [
    "ls",
    {
      operands: "paths",
      flags: "1aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ",
      values: "ITw",
      long: `all almost-all author escape block-size= ignore-backups color? colour? directory dired classify? file-type format= full-time group-directories-first no-group human-readable si dereference-command-line dereference hide= hyperlink? indicator-style= inode ignore= kibibytes numeric-uid-gid literal hide-control-chars show-control-chars quote-name quoting-style= reverse recursive size sort= time= time-style= tabsize= width= context zero ${COMMON}`,
    },
  ],
  ["locale", { operands: "none", flags: "am", long: `all-locales charmaps ${COMMON}` }],
  ["lscpu", { operands: "none", flags: "abcehJpxy" }],
  ["md5sum", SUMS],
  [
    "nl",
    {
      operands: "paths",
      flags: "p",
      values: "bdfhilnsvw",
      long: `body-numbering= number-format= number-width= starting-line-number= number-separator= ${COMMON}`,
    },
  ],
  ["nproc", { operands: "none", long: `all ignore= ${COMMON}` }],
  [
    "numfmt",
    {
      operands: "text",
      long: `to= from= suffix= padding= field= delimiter= round= format= header? ${COMMON}`,
      values: "d",
    },
  ],
  [
    "od",
    {
      operands: "paths",
      flags: "abcdfilosvx",
      attached: "w",
      values: "AjNtS",
      long: `address-radix= skip-bytes= read-bytes= format= strings? output-duplicates width? ${COMMON}`,
    },
  ],
  ["paste", { operands: "paths", flags: "sz", values: "d", long: `delimiters= serial zero-terminated ${COMMON}` }],
  ["pgrep", { operands: "text", flags: "acflnoivx", values: "ug" }],
  ["pr", { operands: "paths", flags: "dfFJmrtTv", attached: "einsS", values: "hloWw", numeric: true }],
  ["printf", { operands: "text" }],
  [
    "ps",
    {
      operands: "text",
      first: /^(aux|ax|au|x|a|u)$/,
      max: 1,
      never: /environ/i,
      flags: "AaefFlHjMTdw",
      values: "pouCt",
      long: "pid= ppid= format= sort= forest no-headers",
    },
  ],
  ["pwd", { operands: "none", flags: "LP" }],
  [
    "readlink",
    {
      operands: "paths",
      flags: "efmnqsvz",
      long: `canonicalize canonicalize-existing canonicalize-missing no-newline quiet zero ${COMMON}`,
    },
  ],
  [
    "realpath",
    {
      operands: "paths",
      flags: "eLmPqsz",
      long: `canonicalize-existing canonicalize-missing logical physical quiet relative-to= relative-base= strip no-symlinks zero ${COMMON}`,
    },
  ],
  ["rev", { operands: "paths" }],
  [
    "rg",
    {
      operands: "pattern-paths",
      risky: true,
      flags: "abcFhHiIlLnNopPqsSuUvVwx0.",
      values: "ABCdeEfgjmMrtT",
      paths: ["-f", "--file", "--ignore-file"],
      globs: ["-g", "--glob", "--iglob"],
      patternOptions: ["-e", "-f", "--regexp", "--file", "--files", "--type-list"],
      long: `${COMMON} after-context= before-context= context= auto-hybrid-regex block-buffered byte-offset case-sensitive color= colors= column context-separator= count count-matches crlf dfa-size-limit= encoding= engine= field-context-separator= field-match-separator= file= files files-with-matches files-without-match fixed-strings follow glob= glob-case-insensitive heading no-heading hidden iglob= ignore-case ignore-file= ignore-file-case-insensitive include-zero invert-match json line-buffered line-number no-line-number line-regexp max-columns= max-columns-preview max-count= max-depth= max-filesize= mmap multiline multiline-dotall no-config no-ignore no-ignore-dot no-ignore-exclude no-ignore-files no-ignore-global no-ignore-parent no-ignore-vcs no-messages no-unicode null null-data one-file-system only-matching path-separator= passthru pcre2 pretty quiet regex-size-limit= regexp= replace= smart-case sort= sortr= stats stop-on-nonmatch text threads= trim type= type-not= type-add= type-list unrestricted vimgrep with-filename no-filename word-regexp`,
    },
  ],
  [
    "seq",
    { operands: "text", flags: "w", values: "fs", numeric: true, long: `equal-width format= separator= ${COMMON}` },
  ],
  ["sha1sum", SUMS],
  ["sha224sum", SUMS],
  ["sha256sum", SUMS],
  ["sha384sum", SUMS],
  ["sha512sum", SUMS],
  ["shasum", { operands: "paths", flags: "bct", values: "a", long: `algorithm= check ${COMMON}` }],
  [
    "shuf",
    {
      operands: "paths",
      risky: true,
      flags: "rz",
      values: "ni",
      long: `head-count= input-range= repeat zero-terminated ${COMMON}`,
    },
  ],
  ["sleep", { operands: "text" }],
  [
    "sort",
    {
      operands: "paths",
      risky: true,
      flags: "bcCdfghiMmnrRsuVz",
      values: "kStT",
      long: `${COMMON} ignore-leading-blanks dictionary-order ignore-case general-numeric-sort human-numeric-sort ignore-nonprinting month-sort numeric-sort reverse random-sort sort= version-sort check? key= merge stable buffer-size= field-separator= unique zero-terminated parallel=`,
    },
  ],
  [
    "stat",
    { operands: "paths", flags: "fLtxs", values: "c", long: `dereference file-system format= printf= terse ${COMMON}` },
  ],
  [
    "strings",
    { operands: "paths", first: /^[^@]/, flags: "afow", values: "entT", long: `all bytes= radix= encoding= ${COMMON}` },
  ],
  ["sum", { operands: "paths", flags: "rs" }],
  ["tac", { operands: "paths", flags: "br", values: "s", long: `before regex separator= ${COMMON}` }],
  [
    "tail",
    {
      operands: "paths",
      flags: "fFqvz",
      values: "cns",
      numeric: true,
      long: `bytes= lines= follow? quiet silent sleep-interval= pid= retry verbose zero-terminated ${COMMON}`,
    },
  ],
  ["tr", { operands: "text", flags: "cCdst", long: `complement delete squeeze-repeats truncate-set1 ${COMMON}` }],
  [
    "tree",
    {
      operands: "paths",
      risky: true,
      flags: "aAdDfFghilnNpqQrsStuUvxC",
      values: "LPI",
      long: "noreport dirsfirst filelimit= charset= du prune inodes device timefmt= matchdirs ignore-case gitignore sort? help version",
    },
  ],
  ["true", { operands: "text" }],
  ["tsort", { operands: "paths", long: COMMON }],
  ["tty", { operands: "none", flags: "s" }],
  ["type", { operands: "text", flags: "aptPf" }],
  [
    "uname",
    {
      operands: "none",
      flags: "amnioprsv",
      long: `all kernel-name nodename kernel-release kernel-version machine processor hardware-platform operating-system ${COMMON}`,
    },
  ],
  ["umask", { operands: "none", flags: "pS" }],
  ["unexpand", { operands: "paths", flags: "a", values: "t" }],
  [
    "uniq",
    {
      operands: "paths",
      max: 1,
      flags: "cdDiuz",
      values: "fsw",
      long: `count repeated all-repeated? skip-fields= group? ignore-case skip-chars= unique zero-terminated check-chars= ${COMMON}`,
    },
  ],
  ["uptime", { operands: "none", flags: "ps", long: `pretty since ${COMMON}` }],
  ["users", VERSIONED],
  ["w", VERSIONED],
  ["wc", { operands: "paths", flags: "clLmw", long: `bytes chars lines max-line-length words total= ${COMMON}` }],
  ["whereis", { operands: "text", flags: "bms" }],
  ["which", { operands: "text", flags: "as" }],
  ["who", { operands: "none", flags: "abdHlmpqrstTuw" }],
  ["whoami", VERSIONED],
  ["xxd", { operands: "paths", max: 1, flags: "abCeEiptuU", values: "clogsR" }],
  ["yes", { operands: "text" }],
  ["xzcat", { operands: "paths" }],
  ["zcat", { operands: "paths" }],
  ["zgrep", GREP],
  [":", { operands: "text" }],
  ["break", { operands: "text" }],
  ["continue", { operands: "text" }],
  ["exit", { operands: "text" }],
  ["return", { operands: "text" }],
  ["shift", { operands: "text" }],
  ["wait", { operands: "none" }],
  ["jobs", { operands: "none", flags: "lnprs" }],
]);

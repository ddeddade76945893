import { startMachine } from "./machine.ts";
import { makeServer } from "./server.ts";
import { helpText, readSettings } from "./settings.ts";
import { Workspaces } from "./workspaces.ts";

/** Starts the sandbox server: `node sandbox-server/main.ts [--port 8788 …]`; `--help` prints them all. */
async function main(): Promise<void> {
  if (process.argv.includes("--help") || process.argv.includes("-h")) return console.log(helpText());
  process.umask(0o022);
  const settings = readSettings(process.argv.slice(2), process.env);
  if (typeof settings === "string") return refuse(settings);
  const workspaces = new Workspaces(settings);
  await workspaces.load();
  const started = await startMachine(settings);
  if (typeof started === "string") return refuse(started);
  for (const note of started.notes) console.error(`note: ${note}`);
  const server = makeServer(started.machine, workspaces);
  const idleMs = settings.idleSeconds * 1000;
  const sweep = setInterval(
    () => {
      void workspaces.removeIdle(Date.now() - idleMs).catch((error) => console.error("sweep failed:", error));
    },
    Math.min(60_000, idleMs / 2),
  );
  server.listen(settings.port, settings.host, () => {
    const address = server.address();
    const port = typeof address === "object" && address ? address.port : settings.port;
    console.log(`sandbox server on http://${settings.host}:${port} (isolation: ${started.machine.isolation})`);
  });
  const stop = () => {
    clearInterval(sweep);
    server.close();
    // Commands end with their connections.
    server.closeAllConnections();
    void started.close().finally(() => process.exit(0));
  };
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
}

function refuse(why: string): void {
  console.error(`the sandbox server does not start: ${why}`);
  process.exitCode = 1;
}

await main();

import { expect, test } from "vitest";
import { createMemorySandbox } from "../../../src/sandbox/virtual/index.ts";
import { run } from "./support/shell.ts";

const make = () => createMemorySandbox({ maxBytes: 1 << 24, now: Date.now });

const SCRIPTS = [
  "echo a; sleep 0.01; echo b",
  "for i in 1 2 3; do echo $i; done",
  "x=$(echo hi); echo [$x]",
  "echo hi | tr a-z A-Z",
  "echo hi | tr a-z A-Z | { read y; echo got $y; }",
  "(echo sub; echo err >&2)",
  "{ echo g; echo e >&2; } 2>&1 | cat",
  "f() { echo in f; return 3; }; f; echo $?",
  "set -e; echo a; false; echo b",
  "set -e; f() { echo in; false; echo no; }; f || echo caught; f; echo never",
  "set -e; if false; then :; fi; ! true; (false); echo never",
  "set -e; x=$(false); echo never",
  "set -eu; { echo g; false; }; echo never",
  "trap 'echo bye' EXIT; echo a; exit 4",
  "echo pre; (exit 7); echo $?; { echo x; exit 9; }; echo never",
  "echo a; nosuch; echo b",
  "echo a > f; cat f; cat nofile",
  "echo ${x:?bad}; echo more",
  "echo a; echo ${x:?bad}; echo more",
  "echo a; { echo q; echo ${x:?bad}; }; echo more",
  "cat <<E\nhere\nE\necho after",
  "echo a >&2; echo b 2>/dev/null",
  "ls /nonexist 2>&1; echo $?",
  "set -x; echo traced; x=1",
  "set -v; echo verbose\necho more",
  "if true; then echo y; fi; while read l; do echo l=$l; done <<< $'a\\nb'",
  "echo ((",
  "echo a; echo $((1/0)); echo b",
  "echo a; ((1/0)); echo b $?",
  "echo a; x=$((2**-1)); echo b",
  "echo q $((08)); echo b",
  "printf 'no newline'; printf '\\xff\\x00'; echo é",
  "printf '\\xff'",
  "printf '\\xc3\\xa9'; echo; echo é 漢字 >&2; printf '\\xc3'; printf '\\xa9\\n'",
  "bash -c 'echo nested; echo e >&2; exit 3'; echo $?",
  "eval 'echo ev'; eval 'echo a; exit 3'; echo no",
  "echo a | tee /dev/stderr | cat",
  "x=$(echo e >&2); echo done",
  "cat <(echo ps); echo x > >(cat)",
  "echo hi > /dev/stdout; echo hi > /dev/stderr; echo a >&1; echo b >/dev/fd/1; echo c >/dev/fd/2",
  "x=`nosuch`; echo $?",
  "seq 3 | xargs -n 1 echo n; seq 3 | while read a; do echo w$a; done",
  "env -i echo q; timeout 1 echo t; timeout 0.05 sleep 5; echo $?",
  "local x; readonly r=1; r=2; echo after",
  "readonly r=1; echo a; r=2; echo after",
  "readonly r=1\necho a\nr=2\necho after",
  "echo $LINENO; \necho $LINENO; echo $BASH_LINENO\nf() { echo $LINENO; }\nf",
  "set -u; echo $nope; echo never",
  "echo a; set -u; echo b; { echo c; echo $nope; }; echo never",
  "false && echo no || echo yes; ! true; echo $?",
  "wait; echo a & wait; jobs",
  "while true; do echo x; done | head -2",
  "read x; echo got:$x; read y; echo got:$y; cat",
  "cat; echo end; cat",
  "{ read x; }; read y; echo $x,$y",
  "declare -p r 2>&1; type echo; command -v ls; alias",
  "shopt -s expand_aliases; alias q='echo al'\nq 1",
  "help | head -1; pwd; cd /tmp; dirs; pushd /; popd",
  "{ echo 1; echo 2 >&2; } > f2 2>&1; cat f2",
  "echo err 1>&2 2>/dev/null; echo both &> f3; cat f3",
  "f() { f; }; f; echo after",
  "f() { echo r; f; }; f",
  "x=aaaa; while true; do x=$x$x; done; echo never",
  ". ./nofile; echo $?; echo 'echo sourced; return 2' > s; . ./s; echo $?",
  "echo 'echo s1; exit 6' > s; . ./s; echo never",
  "echo 'echo s1; exit 6' > s; bash s; echo $?",
  "echo x >/no/dir/f; echo next",
  "cat < /no/f; echo next $?",
  "echo a > /tmp; echo $?",
  "set -o pipefail; false | cat; echo $?; echo ${PIPESTATUS[@]}",
  "false | true | false; echo ${PIPESTATUS[@]}; true; echo ${PIPESTATUS[@]}",
  "false | true\n{ :; }\necho ${PIPESTATUS[@]}",
  "true\nx=1\necho ${PIPESTATUS[@]} $?",
  "mapfile -t a < <(printf 'x\\ny\\n'); echo ${a[1]}",
  "printf -v v %s hey; echo $v; echo -n; echo -e 'a\\tb'; echo $_; echo q w; echo $_",
  "[ -t 1 ] && echo tty || echo notty; test -e /dev/stdout && echo e",
  "echo one; return 5; echo two",
  "break; echo x; continue; echo y",
  "for i in 1 2 3; do for j in 1 2; do echo $i$j; [ $j = 1 ] && continue 2; done; break; done; echo z",
  "while true; do echo a; break; done; echo b",
  "for i in 1 2; do { echo $i; break; }; done; echo b",
  "echo a; ls nofile | cat; echo b >&2; printf %s c",
  "cd /; pwd; cd /nonexist; pwd; x=5; export x; printenv x; unset x; printenv x",
  "case a in a) echo A;; esac; until true; do :; done; [[ a == a ]] && echo eq; [[ a =~ ( ]]; echo $?",
  "time true 2>/dev/null; arr=(1 2 3); echo ${arr[@]:1}; declare -A m=([k]=v); echo ${m[k]}; echo {1..3}; echo *.none",
  "fi; echo a",
  "echo a\nfi\necho b",
  "{ls;\n}",
  "set -e\nfalse\n{ls;\n}",
  "echo a\n{ls;\n}\necho b",
  "if",
  "echo 'unterminated",
  "echo $(",
  "echo a; for i in {1..400}; do :; done; echo never",
  "echo $0 $# $$; set -- a b c; echo $# $2; shift; echo $1; getopts a: o -a 1; echo $o",
  "f() { local x=1; echo $x; unset -f f; }; f; f; echo $?",
  "let 1/0; echo $?; ((0)); echo $?; let x=3; echo $x",
  "echo a; kill -9 $$; echo b; nosuch || echo alt; nosuch && echo no; echo $?",
  "echo a 1>&- ; echo b; echo c 2>&-; ls nofile 2>&-; echo >&5; echo d",
  "exec 3>&1; echo to3 >&3; exec 3>&-; echo back",
  "exec > out; echo hidden; exec >&2; echo vis",
  "exec echo final; echo never",
  "exec 4<<<hey; read -u 4 q; echo $q",
  "exec 2>&1; ls nofile; echo b",
  "eval 'exec 2>/dev/null'; ls nofile; echo b",
  "exec nosuchcmd; echo n",
  "set -n; echo a",
  "set -e; set +e; false; echo a; set -o | head -3; shopt | head -2",
  "set -e; while false; do :; done; echo a; for i in 1; do false; done; echo n",
  "set -e; cd /nonexist; echo n",
  "set -e\necho a > /no/f\necho n",
  "set -C; echo a > f; echo b > f; cat f",
  "set -f; echo *; set -a; q=1; printenv q",
  "while echo cond; do echo body; break; done; if echo c; then echo t; else echo e; fi; until echo u; do :; done",
  "{ echo a; } 2>&1 && echo b; (echo c; ls nofile) 2>&1; echo d; { echo e; } >&2 || echo f",
  "case a in a) echo A;; esac && echo after; [[ a == a ]] && echo eq || echo ne; f() { echo fn; }; f && f | cat; f >&2",
  "echo a && echo b | cat; while read l; do echo l=$l; done < /etc/none; while read l; do echo l=$l; done <<< x; echo z",
  "for i in 1 2; do echo $i; ls none$i; sleep 0.001; done; while sleep 0.001; do echo w; break; done; echo z",
  "for i in 1 2 3; do sleep 0.001; for j in a b; do echo $i$j; sleep 0.001; [ $j = a ] && continue 2; done; done; echo $i",
  "set -euo pipefail; for i in 1 2; do echo $i; sleep 0.001; done; echo $nope; echo never",
  "set -e; for i in 1 2; do echo $i; sleep 0.001; false; done; echo never",
  "i=0; while [ $i -lt 3 ]; do i=$((i+1)); echo $i; sleep 0.001; done",
  "echo x && echo $((1/0)); echo b",
  "echo x; echo ${bad!sub}; echo b",
  "echo {a..; echo b",
  "x=$(cat <<< in; exit 3); echo $? $x",
  "echo >/dev/null a; echo b &>/dev/null; echo c",
  "git nonsense 2>/dev/null; time true 2>/dev/null; echo x | while read a; do echo got $a; done; ! echo neg; echo $?",
];

// spec
test.each(SCRIPTS)("gives the same when it streams: %s", async (script) => {
  const timeless = (text: string) => text.replace(/0m\d+\.\d+s/g, "0m0s");
  const request = { stdin: "in1\nin2\nin3\n" };
  // `return` outside of a function says so and does nothing; it keeps the script from being cut.
  const whole = await run(make(), `return 2>/dev/null; ${script}`, request);
  const cut = await run(make(), `true   2>/dev/null; ${script}`, request);
  expect({ ...cut, stderr: timeless(cut.stderr) }).toEqual({ ...whole, stderr: timeless(whole.stderr) });
});

/** Waits for the first stdout event of a command, then lets it go on. */
async function firstOutput(command: string): Promise<{ readonly text: string; readonly ended: boolean }> {
  const sandbox = make();
  const stop = new AbortController();
  const request = { command, cwd: sandbox.root, env: {}, timeoutMs: 60_000 };
  try {
    for await (const event of sandbox.exec(request, stop.signal)) {
      if (event.type === "stdout") return { text: new TextDecoder().decode(event.data), ended: false };
      if (event.type === "exit") return { text: "", ended: true };
    }
  } finally {
    stop.abort();
  }
  return { text: "", ended: true };
}

// spec: X-1
test.each([
  ["a statement", "echo a; sleep 50; echo b"],
  ["a turn of a loop", "for i in a b; do echo $i; sleep 50; done"],
  ["a turn of an endless loop", "while true; do echo a; sleep 50; done"],
])("gives what %s wrote while the command goes on", async (_, command) => {
  expect(await firstOutput(command)).toEqual({ text: "a\n", ended: false });
});

test("gives output made before a deadline", async () => {
  const ran = await run(make(), "echo a; sleep 50; echo b", { timeoutMs: 100 });
  expect(ran).toMatchObject({ stdout: "a\n", exitCode: 124, timedOut: true });
});

test("joins small output into few events", async () => {
  const sandbox = make();
  const request = { command: "for i in $(seq 2000); do echo $i; done", cwd: sandbox.root, env: {}, timeoutMs: 60_000 };
  let events = 0;
  for await (const event of sandbox.exec(request, new AbortController().signal)) if (event.type === "stdout") events++;
  expect(events).toBeLessThan(100);
});

test("keeps what nested shells and pipelines write where it belongs", async () => {
  const ran = await run(
    make(),
    "bash -c 'echo a; echo b' | tr a-z A-Z; x=$(bash -c 'echo in'); echo \"[$x]\"; timeout 5 echo t | tr t T",
  );
  expect(ran.stdout).toBe("A\nB\n[in]\nT\n");
});

/** The longest text that is judged at all. */
const TEXT = 32 * 1024;

/** A unit repeated until the text is full, or so many times. */
function fill(unit: string, times = Math.floor(TEXT / unit.length)): string {
  return unit.repeat(times);
}

function nest(open: string, middle: string, close: string, depth: number): string {
  return open.repeat(depth) + middle + close.repeat(depth);
}

function each(count: number, unit: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => unit(index)).join("");
}

/** Command lines made to keep a judge busy, by name: as long, as many or as deep as its limits let through, and beyond. */
export const HOSTILE_COMMANDS: Readonly<Record<string, string>> = {
  "32 KiB of ;": fill(";"),
  "10,900 commands": fill("ls;"),
  "999 commands": fill("ls -la src/aaaaaaaaaaaaaaaaa;", 999),
  "999 commands with two files": fill("cat src/aaaaaa src/bbbbbbbbb;", 999),
  "999 pipes": `${fill("cat|", 999)}cat`,
  "499 times &&": `${fill("a&&", 499)}a`,
  "990 times &": fill("a&", 990),
  "100 nested $(": nest("echo $(", "ls", ")", 100),
  "5,000 nested $(": nest("$(", "ls", ")", 5000),
  '100 nested "$(': nest('echo "$(', "ls", ')"', 100),
  "98 open $( and quotes": fill("$(", 98) + fill('echo "', 5000),
  "15 open $( and quotes": fill("$(", 15) + fill('echo "', 5000),
  "40 nested backticks": nest('echo "$(echo `', "ls", '`)"', 40),
  "99 backticks": fill("`ls`", 99),
  "100 nested <(": nest("cat <(", "ls", ")", 100),
  "400 nested (": nest("(", "ls", ")", 400),
  "400 nested {": nest("{ ", "ls", ";}", 400),
  "100 nested ${": nest("${a:-", "x", "}", 100),
  "12,000 variables": `echo ${fill("${a}", 100)}${fill("$a", 12_000)}`,
  "15,000 sums": `echo $((${fill("1+", 15_000)}1))`,
  "390 nested sums": `echo $((${nest("(", "1", ")", 390)}))`,
  "300 here-documents": each(300, (i) => `cat <<E${i}\nx\nE${i}\n`),
  "900 lines of here-document": `cat <<E\n${fill("a line of it\n", 900)}E`,
  "10,000 variables in a here-document": `cat <<E\n${fill("$a ", 10_000)}\nE`,
  "8,000 open here-documents": `cat ${fill("<<E ", 8000)}`,
  "4,000 open here-documents over 900 lines": `cat ${fill("<<E ", 4000)}\n${fill("x\n", 900)}`,
  "6,500 here-strings": `cat ${fill("<<<a ", 6500)}`,
  "one long word": `echo ${fill("a", TEXT - 5)}`,
  "one long quoted word": `echo "${fill("a", TEXT - 7)}"`,
  "an open quote": `echo "${fill("a", TEXT - 7)}`,
  "16,000 escapes": `echo ${fill("\\a", 16_000)}`,
  "32,000 stars": `ls ${fill("*", 32_000)}`,
  "16,000 stars apart": `ls ${fill("a*", 16_000)}`,
  "10,900 brackets": `ls ${fill("[a]", 10_900)}`,
  "32,000 slashes": `ls ${fill("/", 32_000)}`,
  "10,900 parents": `ls ${fill("../", 10_900)}`,
  "4,600 quotes in a word": `ls ${fill(`'a'"b"c`, 4600)}`,
  "400 braces in a word": `ls ${fill("{a,b}", 400)}`,
  "400 nested braces": `ls ${nest("{a,", "b", "}", 400)}`,
  "380 extended patterns": `ls ${fill("@(a|b)", 380)}`,
  "10,900 redirects": `ls${fill(" >f", 10_900)}`,
  "10,900 inputs": `cat${fill(" <f", 10_900)}`,
  "2,700 redirects to nothing": `ls${fill(" 2>/dev/null", 2700)}`,
  "16,000 arguments": `ls ${fill("a ", 16_000)}`,
  "5,400 files": `cat ${fill("src/a ", 5400)}`,
  "2,300 files": `cat ${fill("src/a ", 2300)}`,
  "8,000 assignments": `${fill("a=1 ", 8000)}ls`,
  "900 assignments in a chain": `${each(900, (i) => `a${i}=$a${i + 1}$a${i + 1};`)}ls $a0`,
  "990 doublings": `${fill("a=$a$a;", 990)}ls $a`,
  "60 values, 9,000 uses": `${each(60, (i) => `a=${i};`)}ls ${fill("$a$a$a ", 3000)}`,
  "30 values, 900 uses": `${each(30, (i) => `a=${i};`)}${fill("cat $a$a;", 900)}`,
  "4,600 subscripts": `${fill("a[1]=2 ", 4600)}ls`,
  "an array of 16,000": `a=(${fill("b ", 16_000)})`,
  "990 times bash -c": fill("bash -c 'ls';", 990),
  "990 traps": fill("trap 'ls' EXIT;", 990),
  "6,000 times eval": `${fill("eval ", 6000)}ls`,
  "6,000 times sudo": `${fill("sudo ", 6000)}ls`,
  "8,000 times env": `${fill("env ", 8000)}ls`,
  "5,000 times xargs": `${fill("xargs ", 5000)}ls`,
  "10,000 times !": `${fill("! ", 10_000)}ls`,
  "8,000 times $IFS": `ls${fill("$IFS", 8000)}`,
  "990 times $IFS": fill("ls$IFS;", 990),
  "990 times cd": `${fill("cd a;", 990)}ls`,
  "490 times cd or cd": `${fill("cd a||cd b;", 490)}ls b c`,
  "250 nested loops": `${fill("for a in b c;do cd $a;", 250)}ls${fill(";done", 250)}`,
  "300 nested ifs": `${fill("if a;then ", 300)}ls${fill(";fi", 300)}`,
  "200 functions": `${each(200, (i) => `f${i}(){ f${i + 1};f${i + 1};};`)}f0`,
  "390 nested tests": `[[ ${nest("( ", "a", " )", 390)} ]]`,
  "490 cases": `case a in ${fill("a) ls;;", 490)} esac`,
  "a script of sed": `sed -n '${fill("1p;", 900)}' f`,
  "a pattern of sed": `sed 's/${fill("a", 30_000)}/b/' f`,
  "a script of awk": `awk '${fill("{print $1} ", 400)}' f`,
  "2,900 names for find": `find . ${fill("-name a -o ", 2900)}-name b`,
  "4,000 settings for git": `git ${fill("-c a=b ", 4000)}status`,
  "32 KiB of #": fill("#"),
  "32 KiB of blanks": `${fill(" ", TEXT - 2)}ls`,
  "16,000 wide letters": `ls ${fill("é", 16_000)}`,
};

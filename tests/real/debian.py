# SPDX-License-Identifier: MIT
"""Programs as Debian ships them print the same with ALL of their functions redirected, and all
functions of their own libraries.

Each job gives text and exit statuses; their digest is part of the verdict's name.
"""
import glob
import hashlib
import http.client
import os
import shutil
import socket
import subprocess
import tempfile
import time

import real

SHORT = True
TRACERS = ["+function", "+function_graph"]
LEAST = 40
WAIT_S = 600

SQL = """create table t(a integer primary key, b text, c real);
with recursive n(x) as (select 1 union all select x + 1 from n where x < 3000)
insert into t select x, hex(x * 37 % 100), x / 7.0 from n; create index i on t(b);
select count(*), sum(a), max(b), round(avg(c), 3) from t; select b, count(*), group_concat(a % 10) from t group by b
order by 2 desc, 1 limit 5; update t set b = b || 'x' where a % 5 = 0; delete from t where a % 3 = 0;
select a, b, row_number() over (partition by b order by a) from t where b like '3%x' limit 20;
begin; insert into t select a + 5000, b, c from t; rollback; create virtual table f using fts5(body);
insert into f select b || ' word' || a from t; select count(*) from f where f match 'word1*';
explain query plan select * from t where b = '31'; vacuum; pragma integrity_check; select json_extract('{"a":[1,2]}', '$.a[1]');"""
SHELL = r"""f() { local a=$1; [ $a -gt 0 ] && f $((a - 1)); echo $a; }; f 9; x=$(echo sub | tr a-z A-Z); echo $x
declare -A m; for i in {1..200}; do m[k$i]=$((i * i % 17)); done; echo ${#m[@]} ${m[k7]} ${m[@]:3:0}
[[ abc =~ a(.)c ]] && echo ${BASH_REMATCH[1]}; trap 'echo got' USR1; kill -USR1 $$; trap 'echo end' EXIT; (exit 3); echo $?
while read -r a b; do echo "$b-$a"; done < <(for i in 1 2 3; do echo $i x$i; done); printf '%05d|%-6s|%q\n' 42 ab "a b"
case foobar in foo*) echo ok;; esac; arr=(c a b); IFS=$'\n' sorted=($(sort <<<"${arr[*]}")); echo "${sorted[@]}"; wait"""
GIT = r"""set -e; git init -q -b main r; cd r; for i in 1 2 3 4 5 6 7 8; do seq $i $((i * 40)) > f$i; echo "$i" >> all; git add .
GIT_AUTHOR_DATE="@$((1600000000 + i)) +0000" GIT_COMMITTER_DATE="@$((1600000000 + i)) +0000" git commit -qm "c$i"; done
git checkout -qb side HEAD~3; echo s > s; git add s; GIT_AUTHOR_DATE='@1600001000 +0000' GIT_COMMITTER_DATE='@1600001000 +0000' git commit -qm side
GIT_COMMITTER_DATE='@1600002000 +0000' GIT_AUTHOR_DATE='@1600002000 +0000' git merge -q -m m main; git log --stat --graph; git diff HEAD~2 --word-diff; git blame all
git gc -q; git fsck --strict; git grep -n 3 HEAD~1; git bundle create -q b HEAD; git ls-tree -r HEAD; git rev-parse HEAD; git stash list
git clone -q . ../r2; git -C ../r2 describe --all --always; git archive HEAD | tar t; git rebase -q HEAD~1 || echo no"""
OPENSSL = r"""set -e; seq 1 20000 > in; for a in md5 sha1 sha256 sha512 sha3-256 blake2b512; do openssl dgst -$a in; done
for c in aes-128-cbc aes-256-gcm aes-256-ctr chacha20 camellia-128-cbc; do openssl enc -$c -K 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff \
-iv 00112233445566778899aabbccddeeff -in in 2>&1 | openssl dgst -sha256; done; openssl genpkey -algorithm ED25519 -out k; openssl pkey -in k -pubout -out p
openssl pkeyutl -sign -inkey k -rawin -in in -out s; openssl pkeyutl -verify -pubin -inkey p -rawin -in in -sigfile s
openssl req -x509 -newkey rsa:1024 -nodes -keyout rk -out crt -subj /CN=x -days 3 2>/dev/null; openssl verify -CAfile crt crt; openssl x509 -in crt -noout -subject"""
NODE = r"""let s = 0; for (let i = 0; i < 2e5; i++) s += i % 7; console.log(s, [3, 1, 2].sort().join(), JSON.stringify({a: [1]}));
try { null.x } catch (e) { console.log(e.message) }; class A { get x() { return 1 } }; console.log(new A().x, /a(.)c/.exec('abc')[1]);
const z = require('zlib').deflateSync('x'.repeat(1e5)); console.log(z.length, require('crypto').createHash('sha256').update(z).digest('hex'));
global.gc && gc(); Promise.resolve(3).then(console.log); setTimeout(() => console.log('late', new Error('e').stack.split('\n').length > 2), 5)"""
PERL = r"""my %h; $h{$_ % 13} .= chr(97 + $_ % 26) for 1..5000; print join(",", map { "$_=" . substr($h{$_}, 0, 3) } sort { $a <=> $b } keys %h), "\n";
$_ = "the quick brown fox"; s/(\w+)/\u$1/g; print "$_\n"; eval { die { code => 5 } }; print $@->{code}, "\n"; print sprintf("%.5f", atan2(1, 1)), "\n";
local $SIG{ALRM} = sub { print "alarm\n" }; kill ALRM => $$; print sort(qw(c a b)), "\n"; if (my $p = fork) { waitpid $p, 0; print $? >> 8, "\n" } else { exit 7 }"""
C = "#include <stdio.h>\n" + "".join(
    f"long f{i}(long n, const char *s) {{ long r = {i}; for (long k = 0; k < n; k++) {{ switch ((k + {i}) % 7) {{ case 0: r += k * 3; "
    f"break; case 1: r ^= s[k & 3]; break; case 4: if (r > {i}) r -= f{max(i - 1, 0)}(n / 2, s); break; default: r = r * 31 + {i}; }} }} "
    f"return r; }}\n" for i in range(20)) + 'int main(void) { printf("%ld\\n", f19(9, "abcd")); return 0; }\n'


def sh(script):
    return lambda env, folder: real.output(["/bin/bash", "-c", script], WAIT_S, cwd=folder, env=env)


def command(*argv):
    return lambda env, folder: real.output(list(argv), WAIT_S, cwd=folder, env=env)


def compiler(env, folder):
    """gcc, cc1, as and ld: the assembly, and what the program prints."""
    with open(f"{folder}/c.c", "w", encoding="utf-8") as f:
        f.write(C)
    script = "gcc -O2 -g -S -o c.s c.c && md5sum < c.s && gcc -O3 -c c.c -o c.o && md5sum < c.o && gcc c.o -o c && ./c"
    return sh(script)(env, folder)


def compiler_sqlite(env, folder):
    sources = glob.glob(f"{real.CACHE}/build/*sqlite*/sqlite3.c") + glob.glob(f"{real.CACHE}/build/*/*/sqlite3.c")
    if not sources:
        return 0, "no sqlite3.c"
    shutil.copy(sources[0], f"{folder}/sqlite3.c")
    return sh("gcc -O2 -w -S -o - sqlite3.c | md5sum")(env, folder)


def server(argv, env, folder, ready, work):
    """What work() gives while the server runs, and the server's exit status after SIGTERM."""
    with tempfile.TemporaryFile() as out:
        p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=folder, env=env,
                             preexec_fn=real.in_group)
        try:
            for _ in range(600):
                if ready() or p.poll() is not None:
                    break
                time.sleep(0.05)
            text = work()
        finally:
            p.terminate()
            status = p.wait(60)
    return status, text


def connects(path):
    with socket.socket(socket.AF_UNIX) as s:
        return not s.connect_ex(path)


def nginx(env, folder):
    path = f"{folder}/n.sock"
    os.mkdir(f"{folder}/www")
    for i in range(20):
        with open(f"{folder}/www/{i}.txt", "w", encoding="utf-8") as f:
            f.write(f"{i} " * 5000)
    with open(f"{folder}/n.conf", "w", encoding="utf-8") as f:
        f.write(f"daemon off; pid {folder}/n.pid; error_log {folder}/e.log; {'user root;' if not os.geteuid() else ''} worker_processes 2;\n"
                f"events {{ worker_connections 64; }}\nhttp {{ gzip on; gzip_types text/plain; access_log off; default_type text/plain;\n"
                + "".join(f"{n}_temp_path {folder}/{n};\n" for n in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
                + f"server {{ listen unix:{path}; root {folder}/www; location /r {{ rewrite ^/r(.*)$ $1 last; }}\n"
                f"location /no {{ return 403; }} autoindex off; }} }}\n")

    def work():
        digest = hashlib.sha256()
        for i in range(60):
            c = http.client.HTTPConnection("localhost")
            c.sock = socket.socket(socket.AF_UNIX)
            c.sock.connect(path)
            c.request("GET", ("/", "/r/", "/no", "/missing/")[i % 4] + f"{i % 20}.txt",
                      headers={"Accept-Encoding": "gzip" if i % 3 else "identity", "Range": "bytes=5-99" if i % 5 == 0 else "bytes=0-"})
            r = c.getresponse()
            digest.update(f"{r.status} ".encode() + r.read())
            c.close()
        return digest.hexdigest()

    return server(["/usr/sbin/nginx", "-e", f"{folder}/e.log", "-c", f"{folder}/n.conf"], env, folder,
                  lambda: os.path.exists(path) and connects(path), work)


REDIS = """set a 1|incr a|lpush l 5 3 9 1|sort l|zadd z 3 c 1 a 2 b|zrangebyscore z -inf +inf withscores|hset h f v g w|hgetall h
eval "local s=0 for i=1,1000 do s=s+redis.call('incr','n') end return s" 0|setrange s 5 xyz|get s|expire a 100|type z|object encoding l
xadd x 1-1 k v|xrange x - +|pfadd p a b c|pfcount p|geoadd g 13.3 38.1 P 15.0 37.5 C|geodist g P C|bitcount s|multi|incr a|exec
debug jmap|save|bgrewriteaof|config get maxclients|client no-evict on|sadd q 1 2 3|sinter q q|dump a|keys z*|dbsize""".replace("\n", "|")


def redis(env, folder):
    path = f"{folder}/r.sock"

    def work():
        cli = ["/usr/bin/redis-cli", "-s", path]
        _, text = real.output(["/bin/bash", "-c", f"tr '|' '\\n' <<'END' | redis-cli -s {path}\n{REDIS}\nEND"], WAIT_S, cwd=folder, env=env)
        # all that it has, without random keys: what is there afterwards is the same each time, and
        # a good file
        _, bench = real.output(["/usr/bin/redis-benchmark", "-s", path, "-n", "500", "-c", "8", "-q"], WAIT_S, cwd=folder, env=env)
        _, left = real.output(["/bin/bash", "-c", f"for c in dbsize 'llen mylist' 'scard myset' 'get counter:__rand_int__' save; do redis-cli -s {path} $c; done\n"
                               "redis-check-rdb dump.rdb | grep -c 'RDB looks OK'"], WAIT_S, cwd=folder, env=env)
        real.output([*cli, "flushall"], WAIT_S, cwd=folder, env=env)
        return f"{text}{bench.count('requests per second')} {left}"

    return server(["/usr/bin/redis-server", "--port", "0", "--unixsocket", path, "--dir", folder, "--save", ""], env, folder,
                  lambda: os.path.exists(path) and connects(path), work)


GEVENT = """import gevent.pool, gevent.queue, greenlet
q = gevent.queue.Queue()
def work(i): gevent.sleep(0.001 * (i % 3)); q.put(i)
gevent.pool.Pool(10).map(work, range(60)); print(sorted(q.queue) == list(range(60)))
def gen(n): return sum(greenlet.getcurrent().parent.switch(i) or 0 for i in range(n))
gs = [greenlet.greenlet(gen) for _ in range(20)]; print([g.switch(5) for g in gs], [g.switch(r) for r in range(6) for g in gs if not g.dead])"""
RUBY = """require 'continuation'
def f(n); n == 0 ? callcc { |k| $k = k; 0 } : f(n - 1) + 1; end
$t = 0; r = f(20); $t += 1; print r, ' ', $t, "\\n"; $k.call(100 * $t) if $t < 5
fib = Fiber.new { 3.times { |i| Fiber.yield i }; :done }; p 4.times.map { fib.resume }
p (1..2000).map { |x| x.to_s.reverse }.sort.first(3); GC.start; p [3, 1].sort"""
GUILE = """(define k #f) (define n 0) (define (f x) (if (= x 0) (call/cc (lambda (c) (set! k c) 0)) (+ 1 (f (- x 1)))))
(display (f 20)) (newline) (set! n (+ n 1)) (if (< n 5) (k (* 100 n))) (display (apply + (map (lambda (x) (* x x)) (iota 900)))) (newline)"""
JAVA = """import java.util.*;
public class H { public static void main(String[] a) throws Exception { Map<Integer,Integer> m = new TreeMap<>();
for (int i = 0; i < 200000; i++) m.merge(i % 97, i, (x, y) -> x ^ y); System.out.println(m.hashCode());
try { Object o = null; o.hashCode(); } catch (NullPointerException e) { System.out.println("npe"); }
System.gc(); Thread t = new Thread(() -> System.out.println("t")); t.start(); t.join(); } }"""
UNISON = "mkdir a b; seq 99 > a/x; echo 1 > b/y; UNISON=$PWD/u unison a b -batch -terse >log 2>&1; echo $?; ls a b; md5sum < b/x"
JOBS = {
    "sqlite": ("/usr/bin/sqlite3", command("/usr/bin/sqlite3", ":memory:", SQL)),
    "bash": ("/bin/bash", sh(SHELL)),
    "git": ("/usr/bin/git", sh(GIT)),
    "openssl": ("/usr/bin/openssl", sh(OPENSSL)),
    "node": ("/usr/bin/node", command("/usr/bin/node", "--expose-gc", "-e", NODE)),
    "perl": ("/usr/bin/perl", command("/usr/bin/perl", "-e", PERL)),
    "gcc": ("/usr/bin/gcc", compiler),
    # programs that copy or walk their stacks: no graph of them, or of their objects
    "gevent": ("/usr/lib/python3/dist-packages/gevent", command("/usr/bin/python3", "-c", GEVENT)),
    "ruby": ("/usr/bin/ruby", command("/usr/bin/ruby", "-W0", "-e", RUBY)),
    "guile": ("/usr/bin/guile", command("/usr/bin/guile", "--no-auto-compile", "-c", GUILE)),
    "shellcheck": ("/usr/bin/shellcheck", sh("printf '#!/bin/sh\nx=$1; echo $x; if [ $x = 1 ]; then echo `ls`; fi\n' > s; shellcheck s; test $? = 1")),
    "unison": ("/usr/bin/unison", sh(UNISON)),
    "java": ("/usr/bin/java", sh(f"cat > H.java <<'END'\n{JAVA}\nEND\njava -Xshare:auto H.java")),
    "rg": ("/usr/bin/rg", sh("for i in $(seq 200); do seq $i $((i * 3)) > f$i; done; rg -n --sort path '^1[0-9]7$' | md5sum; rg -c --sort path 3 | tail -n 3")),
    "nginx": ("/usr/sbin/nginx", nginx),
    "redis": ("/usr/bin/redis-server", redis),
}
LUA = r"""local co = {} for i = 1, 50 do co[i] = coroutine.wrap(function(a) for k = 1, 20 do a = coroutine.yield(a * k) + i end error("e" .. i) end) end
local s = 0 for k = 1, 20 do for i = 1, 50 do s = (s + co[i](i + k)) % 1000003 end end print(s, pcall(co[3], 1)) local t = setmetatable({}, {__index = function(t, k) return k * 2 end})
print(t[21], string.rep("ab", 3, "-"), ("x1y22"):gsub("%d+", function(d) return #d end), select("#", table.unpack({}, 1, 200))) collectgarbage()
table.sort(co, function(a, b) return tostring(a) < tostring(b) end) print(pcall(string.rep, "x", -1), load("return 1 + ")) print(#string.format("%q", ("\0\n"):rep(500)))"""
# the compilers of C++, and of the whole program at once; exceptions go through the program's frames
CXX = r"""#include <map>
#include <stdexcept>
#include <string>
#include <iostream>
template <int N> struct F { static long go(long n) { return n % 3 ? F<N - 1>::go(n / 2) + N : n > 1000 ? throw std::runtime_error("big") : n; } };
template <> struct F<0> { static long go(long n) { return n; } };
int main() { std::map<std::string, long> m; for (long i = 0; i < 3000; i++) try { m[std::to_string(i % 17)] += F<40>::go(i); }
catch (const std::exception &e) { m[e.what()]++; } for (auto &k : m) std::cout << k.first << ' ' << k.second << ' ';
std::cout << std::endl; }"""
CMAKE = """cmake_minimum_required(VERSION 3.18)
project(x C)
enable_testing()
foreach(i RANGE 1 4)
  file(WRITE ${CMAKE_BINARY_DIR}/f${i}.c "int f${i}(void) { return ${i}; }\\n")
  add_library(l${i} STATIC ${CMAKE_BINARY_DIR}/f${i}.c)
  list(APPEND all l${i})
endforeach()
string(REGEX REPLACE "([a-z])([0-9]+)" "\\\\2\\\\1" mixed "${all}")
message(STATUS "${mixed}")
try_compile(works ${CMAKE_BINARY_DIR}/t ${CMAKE_SOURCE_DIR}/c.c)
add_executable(c c.c)
target_link_libraries(c ${all})
add_test(NAME runs COMMAND c)
add_custom_command(OUTPUT o.txt COMMAND ${CMAKE_COMMAND} -E sha256sum c.c > o.txt WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
add_custom_target(o ALL DEPENDS o.txt)
message(WARNING "here ${works}")
"""
PERL_MORE = r"""use strict; use threads; use threads::shared; use Encode; use Digest::SHA qw(sha256_hex); use POSIX qw(:sys_wait_h floor); use Storable;
use List::Util qw(reduce); use Time::HiRes qw(setitimer ITIMER_REAL); use Data::Dumper; $Data::Dumper::Sortkeys = 1; my $n :shared = 0;
my @t = map { my $k = $_; threads->create(sub { for (1..500) { lock $n; $n += $k } $k * 2 }) } 1..4; print join(",", map { $_->join } @t), " $n\n";
my $hits = 0; $SIG{ALRM} = sub { $hits++ }; setitimer(ITIMER_REAL, 0.002, 0.002); my $x = 0; while ($hits < 20) { $x = sha256_hex($x . "y") } setitimer(ITIMER_REAL, 0);
print "hits\n"; print encode("UTF-8", uc "\x{e9}\x{df}"), "\n"; print reduce { $a * 31 % 1000003 + $b } map { ord } split //, "the text" x 400; print "\n";
print Dumper(Storable::dclone({ a => [1, { b => undef }], c => \"s" })); my $r = qr/^(?:(\d+)|(?<w>\w+))(?{ $x = 5 })$/; "word" =~ $r and print "$+{w} $x\n";
local $@; eval { eval { die "in\n" }; print $@; die "out\n" }; print $@; sub rec { my $d = shift; $d ? rec($d - 1) + 1 : 0 } no warnings; print rec(3000), "\n";
print sprintf("%s %.3e %b", join("", sort { $b cmp $a } split //, "perl"), 12345.678, 99), "\n"; print floor(-1.5), pack("w/a*N", "abc", 7) =~ tr/a//, "\n";"""
PHP = r"""<?php function g($n) { for ($i = 0; $i < $n; $i++) { $x = yield $i => $i * 2; if ($x) echo "got $x\n"; } return 'end'; }
$g = g(4); foreach ($g as $k => $v) echo "$k=$v "; echo $g->getReturn(), "\n";
$fs = []; for ($i = 0; $i < 20; $i++) $fs[] = new Fiber(function ($a) use ($i) { $s = 0; for ($k = 0; $k < 30; $k++) $s += Fiber::suspend($a + $k * $i); if ($i == 7) throw new LogicException("f$i"); return $s; });
foreach ($fs as $i => $f) $f->start($i); for ($k = 0; $k < 30; $k++) foreach ($fs as $i => $f) try { $f->resume($k); } catch (LogicException $e) { echo $e->getMessage(), "\n"; }
foreach ($fs as $i => $f) if ($i != 7) echo $f->getReturn(), ' '; echo "\n";
try { try { intdiv(1, 0); } finally { echo "finally\n"; } } catch (DivisionByZeroError $e) { echo get_class($e), "\n"; }
echo preg_replace_callback('/(\w)(\d+)/', fn($m) => strtoupper($m[1]) . strlen($m[2]), 'a123 b4'), md5(serialize(array_map('strrev', range('a', 'z')))), "\n";
$a = [3, 1, 2]; usort($a, fn($x, $y) => $x <=> $y); echo json_encode(['a' => 1.5, 'b' => [null, true]]), ' ', count(array_filter(range(1, 9999), fn($x) => $x % 7 == 0)), "\n";
for ($i = 0, $h = ''; $i < 3000; $i++) $h = hash('sha256', $h . $i); echo $h, "\n"; gc_collect_cycles(); echo str_pad(strrev('x'), 5, '-', STR_PAD_BOTH), "\n";"""
EMACS = r"""(progn (require 'cl-lib) (princ (format "%S\n" (cl-sort (mapcar (lambda (x) (% (* x 37) 101)) (number-sequence 1 50)) #'<)))
(dotimes (i 30) (garbage-collect) (make-vector 20000 i)) (princ (format "%S\n" (condition-case e (error "no %d" 5) (error e))))
(princ (format "%S\n" (catch 'k (unwind-protect (dolist (x '(1 2 3)) (when (= x 2) (throw 'k x))) (princ "unwound\n")))))
(with-temp-buffer (dotimes (i 500) (insert (format "line %d\n" i))) (goto-char (point-min)) (while (re-search-forward "\\([0-9]\\)\\([0-9]+\\)" nil t) (replace-match "\\2\\1"))
(princ (md5 (buffer-string)))) (let ((f (byte-compile (lambda (n) (let ((s 0)) (dotimes (i n) (setq s (logxor s (* i i)))) s))))) (princ (format "\n%d\n" (funcall f 20000))))
(let ((th (make-thread (lambda () (dotimes (i 5) (thread-yield)) 'done)))) (princ (format "%S\n" (thread-join th))))
(princ (format "%S\n" (shell-command-to-string "echo hi | tr a-z A-Z"))) (princ (format "%d\n" (expt 7 300))) (princ (json-serialize '((a . 1) (b . [1 2])))))"""
VIM = """normal ihello world\nfor i in range(300) | call append('$', 'n ' . (i * 37 % 101)) | endfor\n2,$sort n\n%s/\\v(\\d)(\\d)/\\2\\1/ge\ng/7/m0\nundo\nundo
redo\nlet r = execute('try | throw "x" | catch /x/ | echo "caught" | endtry')\ncall append(0, r)\nset syntax=c\ncall append(0, string(sort(map(range(9), 'v:val * 3 % 7'))))\nw! out\nq!\n"""
TAR = """mkdir -p t/a/b; for i in $(seq 60); do seq $i $((i * 9)) > t/a/f$i; ln -s f$i t/a/l$i; done; ln t/a/f1 t/a/b/hard; truncate -s 3M t/sparse; echo x >> t/sparse; find t -exec touch -hd @0 {} +
for how in '' --gzip --xz --zstd --bzip2; do tar -S --sort=name --owner=0 --group=0 --mtime=@0 --format=pax --pax-option=delete=atime,delete=ctime $how -cf x.tar t
tar -tf x.tar | md5sum; mkdir o; tar -xf x.tar -C o && diff -r t o/t && find o -type f -size +2k | sort | xargs md5sum | md5sum; rm -r o; done; tar -df x.tar; echo $?
tar -cf - t | tar --delete t/a/f3 -f - | tar -tf - | wc -l"""
GDB = """cat > v.c <<'END'
#include <stdio.h>
struct s { int a; struct s *next; } x = {3, 0}, y = {4, &x};
int inner(struct s *p) { int k = p->a; return k * 2; }
int outer(int n) { int s = 0; for (int i = 0; i < n; i++) s += inner(i % 2 ? &x : &y); return s; }
int main(void) { printf("%d\\n", outer(5)); return 3; }
END
gcc -g -O0 -o v v.c; gdb -nx -batch -iex 'set startup-with-shell off' -iex 'set debuginfod enabled off' -ex 'unset environment LD_PRELOAD' -ex 'break inner' -ex run -ex bt -ex 'p *p' -ex 'p *p.next' -ex finish -ex 'ptype struct s' -ex 'watch s' -ex continue -ex 'info source' -ex 'python print([f.name for f in gdb.lookup_global_symbol("main").type.fields()], gdb.selected_frame().name())' \
-ex 'p outer(2)' -ex delete -ex continue -ex 'disassemble inner' ./v 2>&1 | sed 's/process [0-9]*/process N/; s/Thread 0x[0-9a-f]*//'"""
FFMPEG = """ffmpeg -nostdin -v error -f lavfi -i testsrc2=duration=1:size=192x108:rate=10 -f lavfi -i sine=duration=1 -filter_complex '[0]split[a][b];[a]hflip,scale=96:54[c];[b][c]overlay' \
-threads 2 -flags +bitexact -fflags +bitexact -c:v mpeg4 -c:a flac -y o.mkv && ffmpeg -nostdin -v error -threads 2 -i o.mkv -f framemd5 -; md5sum < o.mkv
ffmpeg -nostdin -v error -i o.mkv -an -pix_fmt rgb24 -vframes 3 -flags +bitexact o%d.png; cat o?.png | md5sum; ffmpeg -nostdin -v error -i no.mkv; echo $?"""
QEMU = """seq 300000 > raw; truncate -s 8M raw; qemu-img convert -O qcow2 -c raw a.qcow2 && qemu-img create -q -f qcow2 -b a.qcow2 -F qcow2 b.qcow2 && qemu-io -c 'write -P 7 1M 300k' -c 'read -P 7 1100k 10k' \
-c 'aio_write -P 3 3M 64k' -c 'aio_write -P 4 4M 64k' -c 'aio_flush' b.qcow2 | grep -v 'ops;\\|sec' | sort; qemu-img check b.qcow2 | head -n 1; qemu-img compare a.qcow2 b.qcow2; qemu-img commit -q b.qcow2
qemu-img convert -m 4 -O raw a.qcow2 c; md5sum < c"""
TEXT = """seq 20000 > n; sort -R --random-source=n n | sort -n --parallel=2 -S 1M | md5sum; sed -nE 's/^(.)(.*)5$/\\2-\\1/;T;p' n | tail -n 2; grep -cP '(?<!1)23' n; mawk '{s[$1%13]+=length($1)} END {for (i=0;i<13;i++) printf "%d ", s[i]}' n
gawk 'function f(x) { return x < 2 ? x : f(x-1) + f(x-2) } BEGIN { print f(18); n = split("c a b", a); asort(a); print a[1] a[3]; print strftime("%Y", 0, 1), gensub(/(.)(.)/, "\\\\2\\\\1", "g", "abcd") }'
jq -nc '[range(2000)] | map(. * 7 % 31) | group_by(.) | map(length) | add, (try error("x") catch .), ([1, [2]] | tojson), (reduce range(500) as $i (0; . + $i))'
find . -name n -size +10k -printf '%f %s\\n'; diff <(head -n 50 n) <(seq 2 2 60) | md5sum; m4 <<'END'
define(f,`ifelse($1,0,1,`eval($1*f(decr($1)))')')f(9)
END
printf 'a: b c\\n\\t@echo $^\\nb c:\\n\\t@echo $@; false || true\\n' | make -sj2 -f - | sort; \
printf '%%%%\\ns: | s '"'(' s ')'"' ;\\n%%%%\\n' | bison -o y.c /dev/stdin && md5sum < y.c"""
FILES = "printf '#!/bin/sh\\n' > s; gzip -nc s > s.gz; cp /bin/true t; head -c 500 /usr/share/misc/magic.mgc > m; file s s.gz m; file -b t | cut -d, -f1-4; file -z s.gz; file --mime /usr/share/man/man1/ls.1.gz; file -k s"
MAN = "cat > p.1 <<'END'\n.TH P 1\n.SH NAME\np \\- it\n.TS\nl l.\na\tb\n.TE\nEND\nfor p in \"$PWD/p.1\" $(ls /usr/share/man/man1/ | head -n 300 | grep gz | sed -n '1p;50p' | sed 's,^,/usr/share/man/man1/,'); do MANWIDTH=80 man -P cat -l $p | md5sum; done\n" \
      "man -P cat no_such_page; echo $?; lexgrog p.1"
SPEED = "openssl speed -seconds 1 -bytes 1024 -evp sha256 2>/dev/null | grep -c ^sha256; openssl speed -multi 2 -seconds 1 -bytes 256 -evp aes-128-gcm 2>/dev/null | grep -ci gcm; openssl prime -generate -bits 256 | wc -c\n" \
        "openssl dhparam -dsaparam 512 2>/dev/null | grep -c BEGIN; head -c 3000000 /dev/zero | openssl enc -aes-256-ctr -pbkdf2 -S 0011223344556677 -pass pass:x | tee e | md5sum; openssl enc -d -aes-256-ctr -pbkdf2 -S 0011223344556677 -pass pass:x -in e | md5sum"
TLS = """openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout k -out c -subj /CN=localhost -days 2 2>/dev/null
openssl s_server -key k -cert c -unix $PWD/s -www -quiet 2>/dev/null & S=$!; until test -S s; do sleep 0.1; done
for v in -tls1_2 -tls1_3; do printf 'GET / HTTP/1.0\\r\\n\\r\\n' | openssl s_client -unix $PWD/s -CAfile c $v -ign_eof 2>/dev/null | grep -E '^(New,|HTTP/1.0|.*Verify return)' | sort -u; done; kill $S; wait $S; echo $?"""
COMPRESS = """seq 1 150000 > in; for c in 'xz -T2 --block-size=300KiB -3' 'zstd -qT2 -9' 'zstd -q --long -15' 'pigz -nmp2' 'pigz -np2 -9' 'bzip2 -k' 'gzip -n9'; do $c -c in > out; md5sum < out
${c%% *} -dc < out | md5sum; done; head -c 100000 out > bad; gzip -t < bad; echo $?; xz -l <(true) 2>&1 | wc -l"""
MORE_JOBS = {
    "perl-more": ("/usr/bin/perl", command("/usr/bin/perl", "-e", PERL_MORE)),
    "php": ("/usr/bin/php", sh(f"cat > p.php <<'END'\n{PHP}\nEND\nphp p.php")),
    "vim": ("/usr/bin/vim", sh(f"vim -es -u NONE -N -i NONE <<'END'\n{VIM}\nEND\necho $?; md5sum < out; head -n 3 out")),
    "qemu-img": ("/usr/bin/qemu-img", sh(QEMU)),
    "file": ("/usr/bin/file", sh(FILES)),
    "man": ("/usr/bin/man", sh(MAN)),
    "lua": ("/usr/bin/lua5.4", command("/usr/bin/lua5.4", "-e", LUA)),
    "text": ("/usr/bin/sed", sh(TEXT)),
    "tar": ("/usr/bin/tar", sh(TAR)),
}
# longer ones, for the full form alone
FULL_JOBS = {
    "gcc-sqlite": ("/usr/bin/gcc", compiler_sqlite),
    "g++": ("/usr/bin/g++", sh(f"cat > c.cc <<'END'\n{CXX}\nEND\ng++ -O2 -g -S -o - c.cc | md5sum; g++ -O2 -flto=2 c.cc -o c && ./c; g++ -O0 -DX='(' -c c.cc -o /dev/null; echo $?; "
                               "echo 'int main() { return x; }' | g++ -xc++ - 2>&1 | head -n 3")),
    "compress": ("/usr/bin/xz", sh(COMPRESS)),
    "emacs": ("/usr/bin/emacs", command("/usr/bin/emacs", "--batch", "-Q", "--eval", EMACS)),
    "gdb": ("/usr/bin/gdb", sh(GDB)),
    "ffmpeg": ("/usr/bin/ffmpeg", sh(FFMPEG)),
    "openssl-more": ("/usr/bin/openssl", sh(SPEED)),
    "tls": ("/usr/bin/openssl", sh(TLS)),
    "cmake": ("/usr/bin/cmake", sh(f"mkdir s b; cat > s/CMakeLists.txt <<'END'\n{CMAKE}END\necho 'int main(void){{return 0;}}' > s/c.c\n"
                                   "cmake -G Ninja -S s -B b -DCMAKE_BUILD_TYPE=Release 2>&1 | grep -v 'done ('; cmake --build b -j2 | grep -c '^\\[' ; b/c; echo $?; cat s/o.txt; ls b | md5sum; (cd b; ctest | grep -c Passed)\n"
                                   "ninja -C b -t deps | wc -l; ninja -C b; ninja -C b -t targets all | md5sum; touch s/c.c; ninja -C b -d explain -n 2>&1 | grep -vc explain; ninja -C b no_such; cmake -P no_such; echo $?")),
}


def prepare():
    missing = sorted({path for path, _ in (JOBS | MORE_JOBS | FULL_JOBS).values() if not os.path.exists(path)})
    if missing:
        print(f"left out, as they are not installed: {' '.join(missing)}")


def run(it, full, only, env, folder):
    jobs = {**JOBS, **MORE_JOBS, **(FULL_JOBS if full else {})}
    verdicts = {}
    env = {**env, "HOME": folder, "LC_ALL": "C", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a",
           "GIT_COMMITTER_EMAIL": "a@b", "GIT_CONFIG_NOSYSTEM": "1", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    for name, (path, job) in jobs.items():
        if (only and not any(t.split()[0] == name for t in only)) or not os.path.exists(path):
            continue
        place = f"{folder}/{name}"
        os.mkdir(place)
        status, text = job(env, place)
        text = text.replace(place, "HERE")
        verdicts[f"{name} {hashlib.sha256(text.encode()).hexdigest()[:16]}"] = "ok" if status == 0 else f"status {status}"
        if os.environ.get("VESTIGE_REAL_TEXT"):
            print(f"== {name} {status}\n{text[-3000:]}")
    return verdicts

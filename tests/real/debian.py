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
        # all that it has, without random keys: what is there afterwards is the same each time, and a good file
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
    # what copies or walks its stacks: no graph of it, or of its objects
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
FULL_JOBS = {
    "gcc-sqlite": ("/usr/bin/gcc", compiler_sqlite),
    "xz": ("/usr/bin/xz", sh("seq 1 300000 | xz -9 | tee x | md5sum; xz -t x; xz -dc x | md5sum")),
    "cmake": ("/usr/bin/cmake", sh("mkdir b; printf 'project(x C)\\nadd_executable(c c.c)\\n' > CMakeLists.txt; echo 'int main(){return 0;}' > c.c\n"
                                   "cmake -G Ninja -S . -B b -DCMAKE_BUILD_TYPE=Release > log && cmake --build b >> log && b/c; echo $?; ls b")),
}


def prepare():
    return None


def run(it, full, only, env, folder):
    jobs = {**JOBS, **FULL_JOBS} if full else JOBS
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

#!/usr/bin/env python3
"""lambda_bench.py - cold-start and warm-invoke bench for a Lambda `bootstrap`, without Docker and without AWS.

It is a minimal Lambda Runtime API server (GET .../invocation/next, POST .../response, .../error, init/error).
It starts the program under test, waits for its first /next (that is the init phase), sends one event (the first
invoke) and then N warm events, each time in a fresh process for every cold run. Several targets are interleaved
(A B C A B C ...), so a busy neighbour hits all of them alike; the table ends in ratios to the first target.
Standard library only; Python 3.9+; Linux. `openssl` is needed for --tls, root for --memory-mb.

Columns
  init      process start -> first /next, ms (what Lambda reports as Init Duration, without the platform's part)
  first     first invoke, ms: event handed over -> response fully received
  cold      init + first: the figure that the aws-samples load-test queries call a cold start
  ccpu      CPU ms the program spent up to its first answer (all threads); steadier than the clock on a busy box
  warm      p50 / p90 / p99 / max, ms, of the N warm invokes of all cold runs pooled
  cpu/inv   CPU time the program spent per warm invoke, us (all threads)
  rss       peak resident memory, MiB (VmHWM);   size: MiB of the program's file
  calls     with --upstream: DynamoDB requests per warm invoke, and which ones (plain HTTP or --tls)

Usage
  lambda_bench.py [options] --target NAME='CMD ARG ...' [--target NAME2=...] [REQUEST]
  REQUEST  one of:  --request 'GET /v1/companies?limit=5' [--header 'Authorization: Bearer x'] [--body FILE]
                    [--event-format v2|v1]    (API Gateway HTTP API 2.0, or REST / payload 1.0)
                    --event FILE.json         (any event, sent as it is; repeat to cycle through several)
                    NAME:--event FILE.json    is written  --target-event NAME=FILE.json  (one target only)
  --cold R         fresh processes per target (default 10)      --warm N    warm invokes per process (default 300)
  --discard D      warm invokes left out at the start of each process (default 20)
  --think-ms T     idle time before every invoke (default 0: back to back; with --memory-mb use 25 or more, so that
                   every invoke starts with a fresh CFS quota, as spaced requests do on Lambda)
  --expect CODE    statusCode that every answer must have; the bench fails otherwise (default: 200; 0 = any)
  --env K=V        environment for every target;                --target-env NAME:K=V    for one target
  --keep-env       pass this shell's whole environment on (default: PATH, HOME, TMPDIR, CA settings only)
  --memory-mb M    give the program M/1769 of one CPU (20 ms CFS period, cgroup v1 or v2; needs root),
  --burst-init     ... but only from the first /next on, as Lambda does: init runs unthrottled
  --upstream H:P   relay to a DynamoDB endpoint (DynamoDB Local, any emulator, a stub). The relay's address is
                   exported as AWS_ENDPOINT_URL_DYNAMODB and AWS_ENDPOINT_URL (more names: --upstream-env NAME)
  --rtt-ms X       the relay adds X ms of round-trip time (and one more X for the TCP handshake)
  --tls            the relay speaks TLS (throw-away RSA-2048 CA and leaf; the CA is appended to a copy of the
                   system bundle and exported as SSL_CERT_FILE and NODE_EXTRA_CA_CERTS; the CA alone is BENCH_CA.
                   AWS_CA_BUNDLE stays unset on purpose: it moves Go's root parsing from the first call into init)
  --real-name      with --tls and root: the relay answers as dynamodb.us-east-1.amazonaws.com:443 (a private
                   /etc/hosts for the program, on 127.88.0.1): for programs that take no endpoint override
  --ca-dir DIR     keep the CA there, so that a program that embeds its roots can embed this one, too (else it pays for
                   the system's pool here, which it does not on Lambda)
  --hosts-ready    with --real-name: /etc/hosts is mounted already (unshare -m around this tool): forking through Python
                   costs every start about 20 ms
  NAME@MB          as a target's name gives it a memory of its own, interleaved with the others (with --burst-init)
  --json FILE      raw numbers as JSON;                         --quiet      no progress lines
Examples
  This service's function, on a local engine; the key's quota is raised, because 600 reads a minute are soon used up:
    GOARCH=amd64 ./scripts/build && go build -o workspace ./scripts/workspace
    go run ./scripts/engine -- bash -c '
      export AWS_ENDPOINT_URL_DYNAMODB=$WORKSPACE_TEST_ENDPOINT AWS_REGION=us-east-1 AWS_ACCESS_KEY_ID=x AWS_SECRET_ACCESS_KEY=x
      created=$(./workspace --table bench company create --name Bench --issue-key --json)
      company=$(jq -r .companyId <<<"$created") key=$(jq -r .key <<<"$created")
      id=$(./workspace --table bench key list --company "$company" --json | jq -r ".items[0].id")
      ./workspace --table bench key quota "$id" --company "$company" --class read --limit 1000000
      scripts/check/external/lambda_bench.py --upstream "${WORKSPACE_TEST_ENDPOINT#http://}" --event-format v1 \\
        --env TABLE_NAME=bench --env GOGC=200 --env GOMEMLIMIT=200MiB --env AWS_REGION=us-east-1 --env AWS_ACCESS_KEY_ID=x \\
        --env AWS_SECRET_ACCESS_KEY=x --target feedback=dist/feedback/bootstrap \\
        --request "GET /v1/companies/$company/feedback" --header "Authorization: Bearer $key"'
  lambda_bench.py --target ours=./bin/plan/bootstrap --target floor=./bin/floor/bootstrap \\
      --upstream 127.0.0.1:8000 --rtt-ms 1 --request 'GET /v1/companies/c1' --header 'Authorization: Bearer k'
  lambda_bench.py --memory-mb 128 --burst-init --tls --upstream 127.0.0.1:8000 --target ours=./bootstrap ...
Exit status: 0 when every answer was as expected, 1 otherwise, 2 on bad usage.
"""
import argparse, collections, ctypes, json, os, queue, re, shlex, shutil, signal, socket, ssl, statistics
import subprocess, sys, tempfile, threading, time
from urllib.parse import urlsplit, parse_qsl

CPU_PER_MB = 1.0 / 1769.0
PERIOD_US = 20000
REAL, REAL_IP = "dynamodb.us-east-1.amazonaws.com", "127.88.0.1"


def private_hosts(path):
    """In the child: a mount namespace of its own in which /etc/hosts is the given file."""
    libc = ctypes.CDLL(None, use_errno=True)
    if (libc.unshare(0x00020000) or libc.mount(b"none", b"/", None, 0x44000, None)     # CLONE_NEWNS; MS_REC|MS_PRIVATE
            or libc.mount(path.encode(), b"/etc/hosts", None, 0x1000, None)):          # MS_BIND
        raise OSError(ctypes.get_errno(), "private /etc/hosts")


# ------------------------------------------------------------------ events
def split_request(req, headers, body, fmt):
    method, target = req.split(" ", 1)
    u = urlsplit(target)
    pairs = parse_qsl(u.query, keep_blank_values=True)
    h = {"host": "api.example.test", "accept": "application/json", "user-agent": "lambda-bench",
         "x-forwarded-for": "192.0.2.1", "x-forwarded-proto": "https", "x-forwarded-port": "443"}
    if body:
        h["content-type"] = "application/json"
    for line in headers:
        k, v = line.split(":", 1)
        h[k.strip().lower()] = v.strip()
    now = int(time.time() * 1000)
    if fmt == "v2":
        e = {"version": "2.0", "routeKey": "$default", "rawPath": u.path, "rawQueryString": u.query, "headers": h,
             "requestContext": {"accountId": "000000000000", "apiId": "api", "domainName": h["host"],
                                "domainPrefix": "api", "requestId": "bench", "routeKey": "$default",
                                "stage": "$default", "time": "01/Jan/2026:00:00:00 +0000", "timeEpoch": now,
                                "http": {"method": method, "path": u.path, "protocol": "HTTP/1.1",
                                         "sourceIp": "192.0.2.1", "userAgent": "lambda-bench"}},
             "isBase64Encoded": False}
        if pairs:
            e["queryStringParameters"] = {k: v for k, v in pairs}
    else:
        e = {"resource": "/{proxy+}", "path": u.path, "httpMethod": method, "headers": h,
             "multiValueHeaders": {k: [v] for k, v in h.items()},
             "queryStringParameters": dict(pairs) or None,
             "multiValueQueryStringParameters": None, "pathParameters": {"proxy": u.path.lstrip("/")},
             "stageVariables": None, "isBase64Encoded": False,
             "requestContext": {"accountId": "000000000000", "apiId": "api", "resourcePath": "/{proxy+}",
                                "httpMethod": method, "path": u.path, "protocol": "HTTP/1.1", "stage": "$default",
                                "requestId": "bench", "requestTimeEpoch": now, "identity": {"sourceIp": "192.0.2.1"}}}
        if pairs:
            mv = collections.defaultdict(list)
            for k, v in pairs:
                mv[k].append(v)
            e["multiValueQueryStringParameters"] = dict(mv)
    if body:
        e["body"] = body
    return json.dumps(e, separators=(",", ":")).encode()


# ------------------------------------------------------------------ relay: DynamoDB calls counted, latency added
class Relay:
    OP = re.compile(rb"x-amz-target:\s*[A-Za-z0-9_]+\.([A-Za-z]+)", re.I)

    def __init__(self, upstream, rtt_ms, tls_dir, real=False):
        host, port = upstream.rsplit(":", 1)
        self.up, self.rtt = (host, int(port)), rtt_ms / 1000.0
        self.ops, self.conns, self.lock = collections.Counter(), 0, threading.Lock()
        self.ctx = None
        if tls_dir:
            self.ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.ctx.load_cert_chain(os.path.join(tls_dir, "leaf.pem"), os.path.join(tls_dir, "leaf.key"))
            self.ctx.num_tickets = 2
        self.srv = socket.create_server((REAL_IP, 443) if real else ("127.0.0.1", 0), backlog=64)
        self.port, self.real = self.srv.getsockname()[1], real
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self):
        if self.real:
            return "https://" + REAL
        return ("https://localhost:%d" if self.ctx else "http://127.0.0.1:%d") % self.port

    def snapshot(self):
        with self.lock:
            return collections.Counter(self.ops), self.conns

    def _accept(self):
        while True:
            c, _ = self.srv.accept()
            threading.Thread(target=self._serve, args=(c,), daemon=True).start()

    def _delay(self, src_recv, dst_send, first_extra, watch):
        """Move bytes src -> dst, each chunk half an RTT late; order is kept."""
        q = queue.SimpleQueue()

        def out():
            while True:
                due, data = q.get()
                wait = due - time.perf_counter()
                if wait > 0:
                    time.sleep(wait)
                try:
                    dst_send(data)
                except OSError:
                    return
                if not data:
                    return
        if self.rtt:
            threading.Thread(target=out, daemon=True).start()
        extra, tail = first_extra, b""
        while True:
            try:
                data = src_recv(65536)
            except (OSError, ssl.SSLError):
                data = b""
            if watch and data:
                buf = tail + data
                last = 0
                for m in self.OP.finditer(buf):
                    if m.end() < len(buf):          # whole name seen
                        with self.lock:
                            self.ops[m.group(1).decode()] += 1
                        last = m.end()
                tail = buf[max(last, len(buf) - 96):]
            if self.rtt:
                q.put((time.perf_counter() + self.rtt / 2 + extra, data))
            else:
                try:
                    dst_send(data)
                except OSError:
                    return
            extra = 0.0
            if not data:
                return

    def _serve(self, c):
        c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self.lock:
            self.conns += 1
        shake = self.rtt                             # SYN / SYN-ACK cannot be delayed here, the first flight can
        if self.ctx:
            try:
                c = self._handshake(c, shake)
            except (OSError, ssl.SSLError):
                c.close()
                return
            shake = 0.0
        try:
            u = socket.create_connection(self.up)
        except OSError:
            c.close()
            return
        u.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def send_up(d):
            if d:
                u.sendall(d)
            else:
                u.shutdown(socket.SHUT_WR)

        def send_down(d):
            if d:
                c.sendall(d)
            else:
                c.close()
        threading.Thread(target=self._delay, args=(u.recv, send_down, 0.0, False), daemon=True).start()
        self._delay(c.recv, send_up, shake, True)
        u.close()

    def _handshake(self, c, shake):
        if self.rtt:
            time.sleep(shake)                        # TCP handshake
        inc, outg = ssl.MemoryBIO(), ssl.MemoryBIO()
        obj = self.ctx.wrap_bio(inc, outg, server_side=True)
        while True:
            try:
                obj.do_handshake()
                break
            except ssl.SSLWantReadError:
                self._flush(c, outg)
                data = c.recv(65536)
                if not data:
                    raise OSError("closed in handshake")
                if self.rtt:
                    time.sleep(self.rtt)             # one flight to and fro
                inc.write(data)
        self._flush(c, outg)
        return _BioConn(c, obj, inc, outg)

    @staticmethod
    def _flush(c, outg):
        d = outg.read()
        if d:
            c.sendall(d)


class _BioConn:
    """TLS over memory BIOs: one thread reads, another writes, a lock guards the SSL object only."""

    def __init__(self, sock, obj, inc, outg):
        self.s, self.o, self.i, self.g, self.l = sock, obj, inc, outg, threading.Lock()

    def recv(self, n):
        while True:
            with self.l:
                try:
                    return self.o.read(n)
                except ssl.SSLWantReadError:
                    pass
                except ssl.SSLZeroReturnError:
                    return b""
            d = self.s.recv(65536)
            if not d:
                return b""
            with self.l:
                self.i.write(d)

    def sendall(self, d):
        with self.l:
            self.o.write(d)
            out = self.g.read()
        self.s.sendall(out)

    def close(self):
        self.s.close()


def make_certs(d):
    def run(*a):
        subprocess.run(a, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    p = lambda n: os.path.join(d, n)
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=bench-ca",
        "-keyout", p("ca.key"), "-out", p("ca.pem"))
    run("openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout", p("leaf.key"),
        "-out", p("leaf.csr"))
    with open(p("ext"), "w") as f:
        f.write("subjectAltName=DNS:localhost,DNS:%s,IP:127.0.0.1\nextendedKeyUsage=serverAuth\n" % REAL)
    with open("/etc/hosts") as src, open(p("hosts"), "w") as out:
        out.write(src.read() + "\n%s %s\n" % (REAL_IP, REAL))
    run("openssl", "x509", "-req", "-in", p("leaf.csr"), "-CA", p("ca.pem"), "-CAkey", p("ca.key"),
        "-CAcreateserial", "-days", "2", "-extfile", p("ext"), "-out", p("leaf.pem"))
    bundle = next((f for f in ("/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/certs/ca-certificates.crt",
                               "/etc/ssl/cert.pem") if os.path.exists(f)), None)
    with open(p("bundle.pem"), "wb") as out:
        for f in filter(None, (bundle, p("ca.pem"))):
            with open(f, "rb") as src:
                out.write(src.read() + b"\n")
    return d


# ------------------------------------------------------------------ CPU quota, as a memory size gives it
class Quota:
    def __init__(self, mb):
        self.us = max(1000, int(PERIOD_US * mb * CPU_PER_MB))
        name = "lambda-bench-%d" % os.getpid()
        if os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
            self.v2, self.dir = True, "/sys/fs/cgroup/" + name
        else:
            self.v2, self.dir = False, "/sys/fs/cgroup/cpu/" + name
        os.makedirs(self.dir, exist_ok=True)

    def _w(self, f, v):
        with open(os.path.join(self.dir, f), "w") as fh:
            fh.write(str(v))

    def set(self, on):
        if self.v2:
            self._w("cpu.max", "%s %d" % (self.us if on else "max", PERIOD_US))
        else:
            self._w("cpu.cfs_period_us", PERIOD_US)
            self._w("cpu.cfs_quota_us", self.us if on else -1)

    def join(self):                                  # runs in the child, before exec
        self._w("cgroup.procs", os.getpid())

    def close(self):
        for _ in range(20):
            try:
                os.rmdir(self.dir)
                return
            except OSError:
                time.sleep(0.05)


# ------------------------------------------------------------------ Runtime API
class RuntimeAPI:
    """One program under test. Blocking sockets: a parked /next is answered by writing to its connection."""

    def __init__(self):
        self.srv = socket.create_server(("127.0.0.1", 0), backlog=16)
        self.addr = "127.0.0.1:%d" % self.srv.getsockname()[1]
        self.ev = queue.SimpleQueue()
        self.n = 0
        self.closed = False
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                c, _ = self.srv.accept()
            except OSError:
                return
            c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._conn, args=(c,), daemon=True).start()

    def _conn(self, c):
        buf = b""
        try:
            while True:
                while b"\r\n\r\n" not in buf:
                    d = c.recv(65536)
                    if not d:
                        return
                    buf += d
                head, buf = buf.split(b"\r\n\r\n", 1)
                lines = head.split(b"\r\n")
                method, path, _ = lines[0].decode().split(" ", 2)
                h = {}
                for ln in lines[1:]:
                    k, v = ln.split(b":", 1)
                    h[k.strip().lower()] = v.strip()
                body = b""
                if h.get(b"expect", b"").lower() == b"100-continue":
                    c.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
                if b"content-length" in h:
                    n = int(h[b"content-length"])
                    while len(buf) < n:
                        d = c.recv(65536)
                        if not d:
                            return
                        buf += d
                    body, buf = buf[:n], buf[n:]
                elif h.get(b"transfer-encoding", b"").lower() == b"chunked":
                    while True:
                        while b"\r\n" not in buf:
                            buf += c.recv(65536)
                        size, buf = buf.split(b"\r\n", 1)
                        n = int(size.split(b";")[0], 16)
                        while len(buf) < n + 2:
                            buf += c.recv(65536)
                        body, buf = body + buf[:n], buf[n + 2:]
                        if n == 0:
                            break
                now = time.perf_counter()
                if method == "GET" and path.endswith("/invocation/next"):
                    self.ev.put(("next", now, c, None))
                else:
                    # the event goes first: the next /next may come in on another connection
                    self.ev.put(("response" if path.endswith("/response") else "error", now, None, body))
                    c.sendall(b"HTTP/1.1 202 Accepted\r\nContent-Type: application/json\r\n"
                              b"Content-Length: 16\r\n\r\n{\"status\":\"OK\"}\n")
        except OSError:
            return

    def wait(self, want, proc, timeout):
        end = time.perf_counter() + timeout
        while True:
            try:
                e = self.ev.get(timeout=0.25)
            except queue.Empty:
                if proc.poll() is not None:
                    raise RuntimeError("program ended with status %s" % proc.returncode)
                if time.perf_counter() > end:
                    raise RuntimeError("no %s within %.0f s" % (want, timeout))
                continue
            if e[0] == "error":
                raise RuntimeError("program reported an error: %s" % e[3][:600].decode("utf-8", "replace"))
            if e[0] == want:
                return e

    def invoke(self, conn, event, timeout=30):
        self.n += 1
        dl = int((time.time() + timeout) * 1000)
        head = ("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
                "Lambda-Runtime-Aws-Request-Id: 00000000-0000-4000-8000-%012d\r\n"
                "Lambda-Runtime-Deadline-Ms: %d\r\n"
                "Lambda-Runtime-Invoked-Function-Arn: arn:aws:lambda:us-east-1:000000000000:function:bench\r\n"
                "Lambda-Runtime-Trace-Id: Root=1-00000000-000000000000000000000000;Sampled=0\r\n\r\n"
                % (len(event), self.n, dl)).encode()
        t0 = time.perf_counter()
        conn.sendall(head + event)
        return t0

    def close(self):
        self.srv.close()


def cpu_ns(pid):
    total = 0
    try:
        for t in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/schedstat" % (pid, t)) as f:
                total += int(f.read().split()[0])
    except OSError:
        pass
    return total


def peak_rss_mib(pid):
    with open("/proc/%d/status" % pid) as f:
        for ln in f:
            if ln.startswith("VmHWM"):
                return int(ln.split()[1]) / 1024.0
    return 0.0


# ------------------------------------------------------------------ one process
def one_run(tgt, events, a, relay, tls_dir, quota):
    api = RuntimeAPI()
    env = dict(os.environ) if a.keep_env else {k: v for k, v in os.environ.items()
                                               if k in ("PATH", "HOME", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR")}
    env.update({"AWS_LAMBDA_RUNTIME_API": api.addr, "_HANDLER": "bootstrap", "AWS_REGION": "us-east-1",
                "AWS_DEFAULT_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "AKIDBENCH", "AWS_SECRET_ACCESS_KEY": "secret",
                "AWS_SESSION_TOKEN": "token", "AWS_LAMBDA_FUNCTION_NAME": "bench", "AWS_LAMBDA_FUNCTION_VERSION": "1",
                "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(a.memory_mb or 1769), "AWS_EXECUTION_ENV": "AWS_Lambda_custom",
                "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand", "LAMBDA_TASK_ROOT": tgt["cwd"], "TZ": ":UTC",
                "AWS_LAMBDA_LOG_GROUP_NAME": "bench", "AWS_LAMBDA_LOG_STREAM_NAME": "bench"})
    if relay:
        for k in ["AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL"] + a.upstream_env:
            env[k] = relay.url()
    if tls_dir:
        b = os.path.join(tls_dir, "bundle.pem")
        env.update({"SSL_CERT_FILE": b, "NODE_EXTRA_CA_CERTS": os.path.join(tls_dir, "ca.pem"),
                    "BENCH_CA": os.path.join(tls_dir, "ca.pem")})
        env.pop("SSL_CERT_DIR", None)
    env.update(tgt["env"])
    if quota:
        quota.set(not a.burst_init)
    log = tempfile.TemporaryFile()

    def pre():
        if quota:
            quota.join()
        if a.real_name:
            private_hosts(os.path.join(tls_dir, "hosts"))
    ops0, conns0 = relay.snapshot() if relay else (collections.Counter(), 0)
    t0 = time.perf_counter()
    p = subprocess.Popen(tgt["argv"], env=env, stdout=log, stderr=log, cwd=tgt["cwd"], start_new_session=True,
                         preexec_fn=pre if (quota and not a.burst_init) or (a.real_name and not a.hosts_ready) else None)
    r = {"warm": []}
    try:
        e = api.wait("next", p, 30)
        r["init"] = (e[1] - t0) * 1e3
        if quota and a.burst_init:
            mb = int(tgt["name"].split("@")[1]) if "@" in tgt["name"] else a.memory_mb
            quota.us = max(1000, int(PERIOD_US * mb * CPU_PER_MB))
            quota.set(True)
            with open(os.path.join(quota.dir, "cgroup.procs"), "w") as fh:  # joined here: forking through Python costs 20 ms of init
                fh.write(str(p.pid))
        if relay:
            o, _ = relay.snapshot()
            r["init_calls"] = dict(o - ops0)
        r["init_cpu"] = cpu_ns(p.pid) / 1e6

        def go(i):
            nonlocal e
            if a.think_ms and i:
                time.sleep(a.think_ms / 1e3)
            s = api.invoke(e[2], events[i % len(events)])
            resp = api.wait("response", p, 30)
            e = api.wait("next", p, 30)
            check(resp[3], a.expect)
            return (resp[1] - s) * 1e3
        r["first"] = go(0)                          # at once after /next, as on a cold start
        r["cold_cpu"] = cpu_ns(p.pid) / 1e6
        if relay:
            o, cn = relay.snapshot()
            r["cold_calls"], r["conns"] = dict(o - ops0), cn - conns0
        for i in range(a.discard):
            go(i + 1)
        ops1 = relay.snapshot()[0] if relay else None
        c0 = cpu_ns(p.pid)
        for i in range(a.warm):
            r["warm"].append(go(i + 1))
        r["cpu_us"] = (cpu_ns(p.pid) - c0) / 1e3 / max(1, a.warm)
        if relay:
            r["calls"] = {k: v / max(1, a.warm) for k, v in (relay.snapshot()[0] - ops1).items()}
        r["rss"] = peak_rss_mib(p.pid)
        return r
    except Exception as ex:
        log.seek(0)
        raise SystemExit("%s: %s\n--- program output\n%s" % (tgt["name"], ex, log.read()[-3000:].decode("utf-8", "replace")))
    finally:
        try:
            os.killpg(p.pid, signal.SIGKILL)
        except OSError:
            pass
        p.wait()
        api.close()
        log.close()


def check(body, expect):
    if not expect:
        return
    try:
        got = json.loads(body).get("statusCode")
    except (ValueError, AttributeError):
        got = None
    if got != expect:
        raise RuntimeError("answer has statusCode %r, expected %d: %s" % (got, expect, body[:400]))


# ------------------------------------------------------------------ report
def pct(v, q):
    s = sorted(v)
    return s[min(len(s) - 1, int(q * len(s)))] if s else float("nan")


def main():
    ap = argparse.ArgumentParser(usage=__doc__, add_help=False)
    ap.add_argument("-h", "--help", action="store_true")
    ap.add_argument("--target", action="append", default=[])
    ap.add_argument("--target-env", action="append", default=[])
    ap.add_argument("--target-event", action="append", default=[])
    ap.add_argument("--request", default="GET /")
    ap.add_argument("--header", action="append", default=[])
    ap.add_argument("--body")
    ap.add_argument("--event", action="append", default=[])
    ap.add_argument("--event-format", choices=("v1", "v2"), default="v2")
    ap.add_argument("--cold", type=int, default=10)
    ap.add_argument("--warm", type=int, default=300)
    ap.add_argument("--discard", type=int, default=20)
    ap.add_argument("--think-ms", type=float, default=0.0)
    ap.add_argument("--expect", type=int, default=200)
    ap.add_argument("--env", action="append", default=[])
    ap.add_argument("--keep-env", action="store_true")
    ap.add_argument("--memory-mb", type=int)
    ap.add_argument("--burst-init", action="store_true")
    ap.add_argument("--upstream")
    ap.add_argument("--upstream-env", action="append", default=[])
    ap.add_argument("--rtt-ms", type=float, default=0.0)
    ap.add_argument("--tls", action="store_true")
    ap.add_argument("--real-name", action="store_true")
    ap.add_argument("--ca-dir")
    ap.add_argument("--hosts-ready", action="store_true")
    ap.add_argument("--json")
    ap.add_argument("--quiet", action="store_true")
    a = ap.parse_args()
    if a.real_name and not (a.tls and a.upstream):
        ap.error("--real-name needs --tls and --upstream")
    if a.help or not a.target:
        print(__doc__)
        return 0 if a.help else 2

    body = open(a.body, encoding="utf-8").read() if a.body else None
    base = [open(f, "rb").read() for f in a.event] or [split_request(a.request, a.header, body, a.event_format)]
    targets = []
    for t in a.target:
        name, cmd = t.split("=", 1)
        argv = shlex.split(cmd)
        exe = shutil.which(argv[0]) or argv[0]
        argv[0] = os.path.abspath(exe)
        argv = [argv[0]] + [os.path.abspath(x) if os.path.exists(x) else x for x in argv[1:]]
        main_file = argv[-1] if os.path.isfile(argv[-1]) else argv[0]
        env = dict(kv.split("=", 1) for kv in a.env)
        for te in a.target_env:
            n, kv = te.split(":", 1)
            if n == name:
                env.update([kv.split("=", 1)])
        own = [open(x.split("=", 1)[1], "rb").read() for x in a.target_event if x.split("=", 1)[0] == name]
        targets.append({"name": name, "argv": argv, "env": env, "events": own or base, "runs": [],
                        "cwd": os.path.dirname(main_file), "size": os.path.getsize(main_file) / 2**20})

    tmp = tempfile.mkdtemp(prefix="lambda-bench-")
    quota = None
    try:
        tls_dir = None
        if a.tls and a.ca_dir:
            os.makedirs(a.ca_dir, exist_ok=True)
            tls_dir = a.ca_dir if os.path.exists(os.path.join(a.ca_dir, "leaf.pem")) else make_certs(a.ca_dir)
        elif a.tls:
            tls_dir = make_certs(tmp)
        relay = Relay(a.upstream, a.rtt_ms, tls_dir, a.real_name) if a.upstream else None
        quota = Quota(a.memory_mb) if a.memory_mb else None
        for i in range(a.cold):
            for t in targets:
                t["runs"].append(one_run(t, t["events"], a, relay, tls_dir, quota))
            if not a.quiet:
                print("round %d/%d" % (i + 1, a.cold), end="\r", file=sys.stderr, flush=True)
        if not a.quiet:
            print(" " * 20, end="\r", file=sys.stderr, flush=True)
    finally:
        if quota:
            quota.close()
        shutil.rmtree(tmp, ignore_errors=True)

    med = statistics.median
    rows = []
    for t in targets:
        rs, warm = t["runs"], [x for r in t["runs"] for x in r["warm"]]
        calls = collections.Counter()
        for r in rs:
            for k, v in r.get("calls", {}).items():
                calls[k] += v / len(rs)
        rows.append({"name": t["name"], "init": med(r["init"] for r in rs), "init_min": min(r["init"] for r in rs),
                     "first": med(r["first"] for r in rs), "cold": med(r["init"] + r["first"] for r in rs),
                     "cold_p90": pct([r["init"] + r["first"] for r in rs], .9), "init_cpu": med(r["init_cpu"] for r in rs),
                     "ccpu": med(r["cold_cpu"] for r in rs),
                     "p50": pct(warm, .5), "p90": pct(warm, .9), "p99": pct(warm, .99), "max": max(warm or [float("nan")]),
                     "cpu": med(r["cpu_us"] for r in rs), "rss": med(r["rss"] for r in rs), "size": t["size"],
                     "calls": dict(calls), "cold_calls": rs[-1].get("cold_calls"), "conns": rs[-1].get("conns")})
    print("%-16s %8s %8s %8s %8s %7s | %8s %8s %8s %8s | %8s %7s %6s" % ("target", "init", "first", "cold", "coldp90",
          "ccpu", "warm p50", "p90", "p99", "max", "cpu/inv", "rss", "size"))
    for r in rows:
        print("%-16s %8.2f %8.2f %8.2f %8.2f %7.2f | %8.3f %8.3f %8.3f %8.2f | %8.0f %7.1f %6.1f" % (r["name"], r["init"],
              r["first"], r["cold"], r["cold_p90"], r["ccpu"], r["p50"], r["p90"], r["p99"], r["max"], r["cpu"], r["rss"], r["size"]))
    if a.upstream:
        for r in rows:
            print("%-16s DynamoDB calls per warm invoke: %.2f %s; up to the first answer: %s over %s connection(s)" % (
                r["name"], sum(r["calls"].values()), {k: round(v, 2) for k, v in r["calls"].items()},
                r["cold_calls"], r["conns"]))
    if len(rows) > 1:
        b = rows[0]
        print("ratios to %s:" % b["name"])
        for r in rows[1:]:
            print("%-16s init %.2fx  first %.2fx  cold %.2fx  ccpu %.2fx  warm p50 %.2fx  p99 %.2fx  cpu/inv %.2fx  rss %.2fx" % (
                r["name"], r["init"] / b["init"], r["first"] / b["first"], r["cold"] / b["cold"],
                r["ccpu"] / max(1e-9, b["ccpu"]), r["p50"] / b["p50"],
                r["p99"] / b["p99"], r["cpu"] / max(1e-9, b["cpu"]), r["rss"] / max(1e-9, b["rss"])))
    if a.json:
        with open(a.json, "w", encoding="utf-8") as f:
            json.dump({"args": {k: v for k, v in vars(a).items() if k != "header"}, "rows": rows,
                       "runs": {t["name"]: t["runs"] for t in targets}}, f)
    return 0


if __name__ == "__main__":
    sys.exit(main())

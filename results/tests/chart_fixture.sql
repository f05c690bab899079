-- Rows of every kind that charts and the report read, in place of all that was there: two hosts,
-- three builds (one of changed sources), checkpoints of one family, a comparison with peers, an
-- A/B comparison, roofs, a history, evaluations; names that are hostile to HTML and gnuplot;
-- results that failed, were skipped, unsteady or wrong; a run that did not end. Noise is a fixed
-- function of result and repetition.
PRAGMA foreign_keys = ON;
DELETE FROM annotation; DELETE FROM run; DELETE FROM bench_case;
DELETE FROM host; DELETE FROM build; DELETE FROM model;

INSERT INTO host(id, fingerprint, hostname, arch, cpu_vendor, cpu_model, isa_flags, cores, threads,
  l1d_bytes, l2_bytes, l3_bytes, mem_bytes, numa_nodes, hypervisor) VALUES
 (1, 'aaaa1111', 'ci-runner-1', 'x86_64', 'GenuineIntel', 'Example CPU 8370C @ 2.80GHz',
  'avx2 avx512f', 2, 4, 49152, 1310720, 50331648, 8589934592, 1, 'kvm'),
 (2, 'bbbb2222', '<script>alert("host")</script>', 'aarch64', NULL, 'Other & CPU "quoted" 100%d',
  'neon dotprod', 8, 8, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO build(id, binary_sha256, version, git_commit, git_dirty, commit_unix_s, compiler, cflags) VALUES
 (1, 'b1', '0.1.0', '1111111111111111111111111111111111111111', 0, 1790000000, 'gcc 12.2.0', '-O3 -g'),
 (2, 'b2', '0.1.0', '2222222222222222222222222222222222222222', 0, 1790100000, 'gcc 12.2.0', '-O3 -g'),
 (3, 'b3', '0.1.0', '3333333333333333333333333333333333333333', 1, 1790200000, 'gcc <12> & more', '-O3 -g');
INSERT INTO model(id, content_sha256, file_name, file_bytes, arch, n_params, n_layer, weight_dtype) VALUES
 (1, 'm1', 'SmolLM2-135M-Instruct.F16.gguf', 270888000, 'llama', 134515008, 30, 'F16'),
 (2, 'm2', 'SmolLM2-135M-Instruct.Q8_0.gguf', 144811360, 'llama', 134515008, 30, 'Q8_0'),
 (3, 'm3', 'SmolLM2-135M-Instruct.Q4_1.gguf', 98400000, 'llama', 134515008, 30, 'Q4_1'),
 (4, 'm4', 'SmolLM2-135M-Instruct.Q4_0.gguf', 91700000, 'llama', 134515008, 30, 'Q4_0'),
 (5, 'm5', '<script>alert("model")</script>-a-very-long-file-name-of-a-checkpoint-that-goes-on-and-on-and-on-Q4_K_M.gguf',
  253000000, 'gemma3', 268098176, 18, 'Q4_K');

-- Runs: 1 attention, 2 decoder, 3 peers, 4 A/B, 5 roofs, 6 aborted, 7 and 10 .. 13 evaluations, 8 goldens,
-- 20 .. 39 history on host 1, 40 .. 45 on host 2
CREATE TEMP TABLE new_run(id, kind, state, host_id, build_id, day, label);
INSERT INTO new_run VALUES
 (1, 'bench', 'complete', 1, 2, 30, NULL), (2, 'bench', 'complete', 1, 2, 31, NULL),
 (3, 'bench', 'complete', 1, 2, 32, 'peers'), (4, 'bench', 'complete', 1, 2, 33, '<b>label</b>'),
 (5, 'bench', 'complete', 1, 2, 34, NULL), (6, 'bench', 'aborted', 1, 2, 60, NULL),
 (7, 'eval', 'complete', 1, 2, 35, NULL), (10, 'eval', 'complete', 1, 2, 35.1, NULL), (11, 'eval', 'complete', 1, 2, 35.2, NULL),
 (12, 'eval', 'complete', 1, 2, 35.3, NULL), (13, 'eval', 'complete', 1, 2, 35.4, NULL), (8, 'golden', 'complete', 1, 2, 36, NULL);
WITH RECURSIVE i(i) AS (SELECT 20 UNION ALL SELECT i + 1 FROM i WHERE i < 45)
INSERT INTO new_run SELECT i, 'bench', 'complete', 1 + (i >= 40),
  CASE WHEN i % 7 = 3 THEN 3 WHEN i < 32 OR i >= 40 THEN 1 ELSE 2 END, i - 20 - 18 * (i >= 40), NULL FROM i;
INSERT INTO run(id, uuid, kind, state, exit_code, host_id, build_id, start_ns, end_ns, heartbeat_ns, hostname,
  argv_json, env_json, seed, label)
SELECT id, printf('%08x-0000-4000-8000-%012x', id * 2654435761 % 4294967296, id), kind, state, 0, host_id, build_id,
  1790000000000000000 + CAST(day * 86400 AS INTEGER) * 1000000000, 1790000060000000000 + CAST(day * 86400 AS INTEGER) * 1000000000,
  1790000060000000000 + CAST(day * 86400 AS INTEGER) * 1000000000, NULL,
  '["rml-bench","decoder","--label","<script>alert(1)</script>"]', '{"RML_CPU":"avx2"}', 0, label FROM new_run;
INSERT INTO run_env(run_id, phase, key, value, reason)
SELECT id, 'start', 'kernel', 'Linux 6.1 <x>', NULL FROM new_run
UNION ALL SELECT id, 'start', 'governor', NULL, 'no cpufreq folder' FROM new_run;

-- A result for each row of new_result; base_ns: an iteration of it
CREATE TEMP TABLE new_result(id INTEGER PRIMARY KEY, run_id, suite, name, engine, arithmetic, isa, model_id, weights,
  k, v, threads, prompt, gen, depth, base_ns, status, items, bytes, flops, rss, kv_bytes, arm, err, tol);

INSERT INTO new_result(run_id, suite, name, engine, arithmetic, isa, k, v, threads, gen, depth, base_ns, status, items, bytes, flops, kv_bytes, rss)
SELECT 1, 'attention', 'llama-3-8b', 'rml', 'f32', 'avx512', k, v, t, 1, d,
  CAST((300000 + d * cost) / (1 + (t - 1) * 0.8) AS INTEGER),
  CASE WHEN d = 16384 AND t = 2 AND k = 'f16' THEN 'unstable' ELSE 'ok' END, 1, d * cost * 8, d * 16384, d * cost * 8, 50000000
FROM (SELECT 'f32' AS k, 'f32' AS v, 250 AS cost UNION ALL SELECT 'f16', 'f16', 170 UNION ALL SELECT 'f16', 'i8', 180
      UNION ALL SELECT 'i8', 'i8', 190),
     (SELECT 1 AS t UNION ALL SELECT 2), (SELECT 0 AS d UNION ALL SELECT 512 UNION ALL SELECT 4096 UNION ALL SELECT 16384);

INSERT INTO new_result(run_id, suite, name, engine, arithmetic, isa, model_id, weights, k, v, threads, prompt, gen, depth, base_ns, status, items, bytes, flops, rss, kv_bytes)
SELECT 2, 'decoder', CASE WHEN p THEN 'prefill' ELSE 'decode' END, 'rml', CASE WHEN m = 1 THEN 'f32' ELSE 'i8' END, 'avx512',
  m, (SELECT weight_dtype FROM model WHERE id = m), 'f16', 'f16', t, p, CASE WHEN p THEN 0 ELSE 16 END, CASE WHEN p THEN 0 ELSE 128 END,
  CAST((SELECT file_bytes FROM model WHERE id = m) * CASE WHEN p THEN 4.0 ELSE 0.1 END / (1 + (t - 1) * 0.6) AS INTEGER),
  'ok', CASE WHEN p THEN p ELSE 1 END, (SELECT file_bytes FROM model WHERE id = m), 270000000 * CASE WHEN p THEN p ELSE 1 END,
  (SELECT file_bytes FROM model WHERE id = m) + 90000000, 23592960
FROM (SELECT id AS m FROM model WHERE id <= 4), (SELECT 1 AS t UNION ALL SELECT 2 UNION ALL SELECT 4), (SELECT 0 AS p UNION ALL SELECT 128);

INSERT INTO new_result(run_id, suite, name, engine, arithmetic, isa, model_id, weights, k, v, threads, prompt, gen, depth, base_ns, status, items, rss, err, tol)
SELECT 3, 'decoder', CASE WHEN p THEN 'prefill' ELSE 'decode' END, e, a, NULL, m, (SELECT weight_dtype FROM model WHERE id = m),
  'f16', 'f16', 2, p, CASE WHEN p THEN 0 ELSE 16 END, d,
  CAST((SELECT file_bytes FROM model WHERE id = m) * CASE WHEN p THEN 4.0 ELSE 0.1 + d * 0.00002 END * slow AS INTEGER), 'ok',
  CASE WHEN p THEN p ELSE 1 END, 300000000, CASE WHEN e = 'ik_llama.cpp' AND p AND m = 3 THEN 9.5 ELSE 0.02 END, 2
FROM (SELECT 'rml' AS e, 'f32' AS a, 1.6 AS slow UNION ALL SELECT 'rml', 'i8', 1.0 UNION ALL SELECT 'llama.cpp', NULL, 1.3 UNION ALL SELECT 'ik_llama.cpp', NULL, 0.8),
  (SELECT 3 AS m UNION ALL SELECT 5),
  (SELECT 0 AS p, 0 AS d UNION ALL SELECT 0, 512 UNION ALL SELECT 512, 0);

INSERT INTO new_result(run_id, suite, name, engine, isa, threads, base_ns, status, items, bytes, flops, arm, k, v, depth)
SELECT 4, 'attention', 'shape-' || c, 'rml', 'avx512', 2, 1000000 * (1 + c * (a = 'head') * 0.02), 'ok', 1, 1000, 1000, a, 'f16', 'f16', 512
FROM (SELECT 0 AS c UNION ALL SELECT 1 UNION ALL SELECT 3 UNION ALL SELECT 5 UNION ALL SELECT -4), (SELECT 'base' AS a UNION ALL SELECT 'head');

INSERT INTO new_result(run_id, suite, name, engine, isa, threads, base_ns, status, bytes, flops)
SELECT 5, 'roof', name, 'rml', 'avx512', t, 10000000, 'ok', CASE name WHEN 'read_bandwidth' THEN 110000000 * (1 + (t - 1) * 0.5) END,
  CASE name WHEN 'fma_f32' THEN 940000000 * t WHEN 'dot_i8' THEN 2100000000 * t END
FROM (SELECT 'read_bandwidth' AS name UNION ALL SELECT 'fma_f32' UNION ALL SELECT 'dot_i8'), (SELECT 1 AS t UNION ALL SELECT 2 UNION ALL SELECT 4);

INSERT INTO new_result(run_id, suite, name, engine, k, v, threads, depth, base_ns, status, items)
VALUES (6, 'attention', 'aborted-only', 'rml', 'f16', 'f16', 1, 77, 5000, 'ok', 1),
 (1, 'attention', 'llama-3-8b', 'rml', 'f32', 'f32', 64, 512, NULL, 'error', 1),
 (1, 'attention', 'llama-3-8b', 'rml', 'i4', 'i4', 1, 512, NULL, 'skipped', 1);

INSERT INTO new_result(run_id, suite, name, engine, arithmetic, isa, weights, k, v, threads, gen, depth, base_ns, status, items)
SELECT r.id, 'decoder', c, 'rml', 'i8', 'avx512', 'q8_0', 'f16', 'f16', 2, 16, 128,
  n * (CASE WHEN r.id BETWEEN 32 AND 39 THEN 0.85 ELSE 1 END) * (CASE WHEN r.id >= 40 THEN 0.5 ELSE 1 END), 'ok', 1
FROM new_run AS r, (SELECT 'history/decode' AS c, 20000000 AS n UNION ALL SELECT 'history/attention', 900000) WHERE r.id >= 20;

INSERT OR IGNORE INTO bench_case(case_key, suite, name, work_version, engine, arithmetic, isa, model_id, weight_dtype, k_dtype,
  v_dtype, threads, n_batch, n_prompt, n_gen, n_depth, params_json)
SELECT printf('%s/%s %s %s %s %s %s %s %s %s %s %s %s', suite, name, engine, arithmetic, isa, model_id, weights, k, v, threads, prompt, gen, depth),
  suite, name, 1, engine, arithmetic, isa, model_id, weights, k, v, threads, 1, prompt, gen, depth, '{}' FROM new_result ORDER BY id;
INSERT INTO result(id, run_id, bench_case_id, arm, engine_version, status, error, warmup_iters, iters_per_rep, items_per_iter,
  bytes_per_iter, flops_per_iter, rss_bytes, kv_bytes, output_sha256, max_abs_error, tolerance)
SELECT id, run_id, (SELECT c.id FROM bench_case AS c WHERE c.case_key =
   printf('%s/%s %s %s %s %s %s %s %s %s %s %s %s', n.suite, n.name, n.engine, n.arithmetic, n.isa, n.model_id, n.weights,
    n.k, n.v, n.threads, n.prompt, n.gen, n.depth)),
  arm, CASE engine WHEN 'rml' THEN '0.1.0+222222222222' WHEN 'llama.cpp' THEN '0.3.36' ELSE '0.1.2' END, status,
  CASE status WHEN 'error' THEN 'no memory for <64> threads & "more"' WHEN 'skipped' THEN 'i4 is no cache type' END, 0, 10, items,
  CAST(bytes AS INTEGER), CAST(flops AS INTEGER), rss, kv_bytes, 'abc', err, tol FROM new_result AS n ORDER BY id;
WITH RECURSIVE rep(rep) AS (SELECT 0 UNION ALL SELECT rep + 1 FROM rep WHERE rep < 21)
INSERT INTO sample(result_id, rep, order_idx, is_warmup, t_mono_ns, iters, wall_ns)
SELECT id, rep, rep, rep = 0, 1000000000 * rep, 10,
  CAST(base_ns * 10 * (1 + ((id * 7919 + rep * 104729) % 97 - 48) / 2400.0 + (rep = 13) * (id % 5) * 0.04 + (rep = 0)) AS INTEGER)
FROM new_result, rep WHERE base_ns IS NOT NULL;

-- Tokens of the decode cases: a pause now and then
WITH RECURSIVE idx(idx) AS (SELECT 0 UNION ALL SELECT idx + 1 FROM idx WHERE idx < 15)
INSERT INTO token_time(result_id, rep, idx, t_mono_ns)
SELECT n.id, s.rep, idx, s.t_mono_ns + CAST(n.base_ns * (idx + 1 + ((n.id + s.rep * 31 + idx * 17) % 23) / 60.0
  + ((s.rep * 16 + idx) % 61 = 60) * 0.9) AS INTEGER)
FROM new_result AS n JOIN sample AS s ON s.result_id = n.id AND NOT s.is_warmup, idx
WHERE n.run_id IN (2, 3) AND n.gen > 0;

INSERT INTO verdict(run_id, base_result_id, candidate_result_id, metric, method, n, ratio, ci_lo, ci_hi, confidence, gate_pct, verdict)
SELECT 4, b.id, h.id, 'wall_ns', 'sign test', 61, 1 + CAST(substr(b.name, 7) AS INTEGER) * 0.02,
  1 + CAST(substr(b.name, 7) AS INTEGER) * 0.02 - 0.012, 1 + CAST(substr(b.name, 7) AS INTEGER) * 0.02 + 0.015, 0.99, 5,
  CASE WHEN b.name = 'shape-5' THEN 'regression' WHEN b.name = 'shape-3' THEN 'inconclusive' ELSE 'pass' END
FROM new_result AS b JOIN new_result AS h ON h.name = b.name AND h.run_id = 4 AND h.arm = 'head' WHERE b.run_id = 4 AND b.arm = 'base';

INSERT INTO eval_metric(run_id, task, metric, value, stderr, n, model_id, arithmetic, k_dtype, v_dtype)
SELECT CASE id WHEN 1 THEN 7 ELSE 8 + id END, 'wiki', 'ppl', 18 + 6.0e8 / (file_bytes + 1e8), 0.2, 1000, id, 'f32', 'f32', 'f32' FROM model
UNION ALL SELECT CASE id WHEN 1 THEN 7 ELSE 8 + id END, 'wiki', 'kld_mean', 4e-5 * (270888000.0 / file_bytes) * (270888000.0 / file_bytes) * (270888000.0 / file_bytes), 1e-6, 1000, id, 'f32', 'f32', 'f32'
FROM model WHERE id <= 4;
INSERT INTO golden(run_id, model_id, name, kind, arithmetic, k_dtype, v_dtype, isa, threads, n_positions, max_abs_error,
  max_logsumexp_error, tolerance, first_bad, passed) VALUES
 (8, 3, 'smollm2/fact', 'logits', 'f32', 'f32', 'f32', 'avx512', 2, 30, 6.0e-5, 1e-5, 2e-3, NULL, 1),
 (8, 5, 'gemma/<script>alert("golden")</script>', 'logits', 'f32', 'f32', 'f32', 'avx512', 2, 30, NULL, NULL, 2e-3,
  'position 3, id <7>: NaN', 0);
INSERT INTO annotation(bench_case_id, host_id, commit_sha, kind, note)
SELECT id, 1, '2222222222222222222222222222222222222222', 'step', 'faster kernels <i>' FROM bench_case WHERE name = 'history/decode';
DROP TABLE new_run; DROP TABLE new_result;

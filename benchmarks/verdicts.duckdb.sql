-- The acker's entries and the verdicts of all roots in Storm 2.x, computed by DuckDB windows.
-- {files} are the parts of a trace of one run with one acker, with rows in the order of `seq`.
-- The query does not support a root that is used again or that ticks drop between its messages; the generated traces have none.
with raw as (select kind, root, value, seq as pos, time_ns as ns, task from read_parquet('{files}') where kind in (10, 11, 12, 13)),
w1 as (select *, bit_xor(case when kind <= 11 then value else 0 end) over w as lft, max(kind = 10) over w as begun, max(kind = 12) over w as given_up
  from raw window w as (partition by root order by pos rows unbounded preceding)),
w2 as (select *, begun and (lft = 0 or given_up) as ends from w1),
w3 as (select *, coalesce(max(ends) over (partition by root order by pos rows between unbounded preceding and 1 preceding), false) as after from w2),
spans as (select root, after, max(ends and not after) as ended, count(*) as n, count_if(kind = 10) as n_init, count_if(kind = 11) as n_ack,
  max(kind = 12) as failed, bit_xor(case when kind <= 11 then value else 0 end) as value, min(pos) as first_pos, min(ns) as first_ns, max(ns) as last_ns,
  max(case when kind >= 12 then pos end) as again_pos, min(case when kind = 10 then ns end) as init_ns, arg_max(task, pos) filter (kind = 10) as spout_task
  from w3 group by root, after),
ticks as (select seq as pos, time_ns as ns, row_number() over (order by seq) as number from read_parquet('{files}') where kind = 14),
left_over as (select root, after, greatest(first_pos, coalesce(again_pos, first_pos)) as put from spans where not ended),
dropped as (select root, after, d.ns as tick_ns from left_over asof join ticks t on t.pos > put join ticks d on d.number = t.number + 2),
entries as (select l.*, tick_ns, case when ended and value = 0 then 'acked' when ended then 'failed' when tick_ns is not null then 'expired' else 'pending' end as outcome,
    case when ended then last_ns else tick_ns end as end_ns, outcome in ('expired', 'pending') as kept,
    outcome in ('acked', 'failed') or outcome = 'expired' and n_init > 0 as reported
  from spans l left join dropped using (root, after)),
given_up as (select root, min(time_ns) as timed_ns from read_parquet('{files}') where kind = 23 group by root),
roots as (select root, max(after) filter (kept) as left_nth, arg_max(value, after) filter (kept) as value, arg_max(n_init > 0, after) filter (kept) as tracked,
    arg_max(failed, after) filter (kept) as left_failed, arg_max(outcome, after) filter (kept) = 'expired' as expired, arg_max(end_ns, after) filter (kept) as left_ns,
    min(after) filter (outcome = 'failed') as failed_nth, max(outcome = 'acked') as completed, arg_min(outcome, after) filter (reported) as outcome_at_spout,
    min(end_ns) filter (reported) as outcome_ns, arg_min(spout_task, after) filter (n_init > 0) as spout_task, max(after)::int + 1 as n_entries,
    sum(case when n_init > 0 then 0 else n_ack end)::bigint as stray, sum(n)::bigint as n, min(first_ns) as first_ns, min(init_ns) as init_ns, max(last_ns) as last_ns
  from entries group by root),
judged as (select r.*, case
    when left_nth is not null and tracked then case when expired or timed_ns is not null then 'EXPIRED' else 'OPEN' end
    when left_nth is not null then case when timed_ns is not null and (outcome_ns is null or timed_ns < outcome_ns) then 'EXPIRED'
      when outcome_at_spout = 'acked' then 'COMPLETE' when outcome_at_spout = 'failed' then 'FAILED' when outcome_at_spout = 'expired' then 'EXPIRED' else 'ORPHAN' end
    when failed_nth is not null then 'FAILED' when timed_ns is not null then 'EXPIRED' else 'COMPLETE' end as verdict,
    case when left_nth is null then 'NONE' when coalesce(left_failed or failed_nth < left_nth, false) then 'FAILED' when value != 0 then 'EVEN' else 'ODD' end as residue,
    coalesce(least(outcome_ns, timed_ns), left_ns) as end_ns
  from roots r left join given_up using (root)),
bad as (select root, value from judged where residue = 'EVEN'),
tuples as (select root, delivery, component, task, value, count(*) as acks, max(site) as site
  from read_parquet('{files}') semi join bad using (root, value) where kind = 11 group by all),
blamed as (select root, list_sort(list(struct_pack(delivery, component, task, value, acks, site))) as culprits from tuples group by root),
verdicts as (select 'bench' as run, 0 as acker, 0 as incarnation, j.root, verdict, residue, value, tracked, spout_task, n_entries,
    case when completed then stray else 0 end as surplus, n, first_ns, init_ns, last_ns, end_ns, 'exact' as "order", coalesce(culprits, []) as culprits
  from judged j left join blamed using (root))

"""Names from the standard libraries whose effect on a tuple is known without a look.

Names only, by the last part of a dotted call: `self.log.warning`, `logging.warning` and `logger.warning`
are all `warning`.
"""

__all__ = [
    "BOTH_PYTHONS",
    "CONTAINER_QUIET",
    "CONTAINER_READS",
    "CONTAINER_STORES",
    "CONTAINER_VIEWS",
    "HARMLESS",
    "LATER",
    "LAZY",
    "LOGGING",
    "NO_RAISE",
    "SEE_THROUGH",
    "THREADS",
    "VIEWS",
]

LOGGING = frozenset(
    "debug info warning warn error exception critical fatal log trace logTrace logDebug logInfo logWarn logError "
    "log_trace log_debug log_info log_warn log_error print_exc format_exc print_stack".split()
)

HARMLESS = frozenset(
    "print str repr len hash id type format vars dir isinstance issubclass hasattr callable int float bool bytes "
    "dumps pformat pprint debug_print deepcopy copy sleep is_tick is_tick_tuple isTick isTickTuple is_heartbeat "
    "get_values format_tuple getsizeof write".split()
)

NO_RAISE = frozenset(
    "append appendleft add get items keys values setdefault clear copy startswith endswith strip lstrip rstrip "
    "lower upper title extend update discard print str repr len isinstance hasattr bool time monotonic clock sleep "
    "perf_counter utcnow now uuid4 count incr increment format super partial list dict set tuple".split()
)

VIEWS = frozenset(
    "list tuple set frozenset sorted reversed iter enumerate zip filter deque chain islice dict".split()
)

CONTAINER_STORES = frozenset(
    "append appendleft add insert put put_nowait push extend extendleft setdefault update enqueue offer".split()
)
CONTAINER_READS = frozenset("pop popleft popitem get get_nowait remove dequeue poll setdefault".split())
CONTAINER_QUIET = frozenset("sort reverse index count remove rotate discard clear".split())
CONTAINER_VIEWS = frozenset("items values keys copy itervalues iteritems iterkeys".split())

THREADS = frozenset(
    "Thread Timer submit apply_async map_async imap starmap_async start_new_thread run_in_executor "
    "run_coroutine_threadsafe add_done_callback spawn spawn_later spawn_after Greenlet deferToThread "
    "callInThread call_in_thread to_thread".split()
)

LATER = frozenset(
    "call_later call_soon call_soon_threadsafe create_task ensure_future add_callback addCallback addCallbacks "
    "addErrback addBoth callLater subscribe register on_delivery add_listener after".split()
)

LAZY = frozenset("map filter".split())  # in Python 3 they do nothing until somebody takes their elements
BOTH_PYTHONS = frozenset(
    "absolute_import division print_function unicode_literals with_statement six".split()
)

SEE_THROUGH = frozenset(
    "staticmethod classmethod override final wraps abstractmethod lru_cache cache wrapt total_ordering "
    "typechecked beartype identity profile timeit log_calls".split()
)

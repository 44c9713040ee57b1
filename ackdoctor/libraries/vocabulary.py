"""Library calls with a known effect, by name: what may raise, store, read, call back or run later.

A call is known by the last part of its dotted name: `self.log.warning`, `logging.warning` and `logger.warning` are all
`warning`.  Names that mean the same in Python and Java are in the same sets; what differs is in `languages`.
"""

import builtins
import re
from collections.abc import Mapping
from typing import NamedTuple

TICK = re.compile(r"tick(?!et|er|le)", re.IGNORECASE)  # but not "ticket", "ticker", "tickle"

LOGGING = frozenset(
    "debug info warning warn error exception critical fatal log trace logTrace logDebug logInfo logWarn logError "
    "log_trace log_debug log_info log_warn log_error print_exc format_exc print_stack "
    "printStackTrace println printf finest finer fine config severe warnf infof errorf debugf "
    "isDebugEnabled isTraceEnabled isInfoEnabled isWarnEnabled isErrorEnabled".split()
)

PURE_CALLS = frozenset(
    "print str repr len hash id type format vars dir isinstance issubclass hasattr callable int float bool bytes "
    "dumps pformat pprint debug_print deepcopy copy sleep is_tick is_tick_tuple isTick isTickTuple is_heartbeat "
    "get_values format_tuple getsizeof "
    "toString hashCode currentTimeMillis nanoTime getMessage getCause getStackTrace getLocalizedMessage "
    "getSimpleName getClass getName valueOf".split()
)

COUNTS = frozenset(
    "incr increment inc decr count incrBy incrementAndGet getAndIncrement timing gauge".split()
)

NEVER_RAISES = frozenset(
    "append appendleft add get items keys values setdefault clear copy startswith endswith strip lstrip rstrip "
    "lower upper title extend update discard print str repr len isinstance hasattr bool time monotonic clock sleep "
    "perf_counter utcnow now uuid4 count incr increment format super partial list dict set tuple "
    "toString hashCode currentTimeMillis nanoTime getMessage getCause getStackTrace getLocalizedMessage "
    "getSimpleName getClass getName addAll addFirst addLast containsKey contains isEmpty size length "
    "putIfAbsent getOrDefault keySet entrySet getKey hasNext iterator equals "
    "incrementAndGet getAndIncrement addAndGet decrementAndGet incrBy inc mark scope "
    "ArrayList LinkedList HashMap HashSet LinkedHashMap LinkedHashSet TreeMap TreeSet ConcurrentHashMap Values "
    "ArrayDeque asList singletonList emptyList append elapsed startsWith endsWith equalsIgnoreCase trim "
    "toLowerCase toUpperCase".split()
)

COLLECTION_WRAPPERS = frozenset(
    "list tuple set frozenset sorted reversed iter enumerate zip filter deque chain islice dict defaultdict OrderedDict "
    "ArrayList LinkedList HashSet LinkedHashSet TreeSet HashMap LinkedHashMap TreeMap ConcurrentHashMap ArrayDeque "
    "Vector CopyOnWriteArrayList LinkedBlockingQueue ConcurrentLinkedQueue ArrayBlockingQueue "
    "unmodifiableList unmodifiableCollection copyOf newArrayList newLinkedList newHashSet newHashMap newArrayDeque "
    "synchronizedList synchronizedMap emptyList emptyMap".split()
)

ATTRIBUTE_READS = frozenset({"getattr"})  # of an object, the attribute's name and perhaps a default

COLLECTION_LITERALS = frozenset(
    "asList of singletonList singleton Values".split()
)  # their arguments, together
ARRAYS = frozenset("asList of".split())  # of these, those that take one array as all elements

CONTAINER_STORES = frozenset(
    "append appendleft add insert put put_nowait push extend extendleft setdefault update enqueue offer "
    "addAll addFirst addLast addElement putIfAbsent putAll offerFirst offerLast putFirst putLast computeIfAbsent".split()
)
CONTAINER_BULK_STORES = frozenset(
    "extend extendleft update addAll putAll".split()
)  # of these, those that add all elements of the argument
CONTAINER_READS = frozenset(
    "pop popleft popitem get get_nowait remove dequeue poll setdefault take peek pollFirst pollLast takeFirst "
    "takeLast removeFirst removeLast getFirst getLast peekFirst peekLast element next firstElement lastElement "
    "computeIfAbsent getOrDefault getIfPresent pollFirstEntry firstEntry getValue".split()
)
CONTAINER_REMOVALS = frozenset(  # of these, those that also remove the element
    "pop popleft popitem remove dequeue poll take pollFirst pollLast takeFirst takeLast removeFirst removeLast next "
    "pollFirstEntry".split()
)
CONTAINER_FILTERS = frozenset({"removeIf"})  # remove the elements for which a predicate holds
CONSTRUCTORS = frozenset({"__init__", "<init>"})
SAME_PART = CONTAINER_READS & {"getValue"}  # of these, those that read the same part of an entry each time
QUEUES = frozenset("Queue LifoQueue PriorityQueue SimpleQueue JoinableQueue".split())  # `get` removes
CONTAINER_OTHERS = frozenset(
    "sort reverse index count remove rotate discard clear size isEmpty contains containsKey containsValue hasNext "
    "ensureCapacity trimToSize length".split()
)
SIZES = frozenset("size length".split())  # methods
ARRAY_SIZES = frozenset({"length"})  # fields
EMPTINESS = frozenset({"isEmpty"})
MEMBERSHIP_TESTS = frozenset({"contains", "containsKey"})
PRESENCE_TESTS = frozenset({"isPresent"})
OPTIONALS = {"empty": False, "of": True}  # methods that make an Optional, and whether it has a value
HAS_NEXT = "hasNext"  # of an iterator
ITERATOR_TESTS = frozenset({HAS_NEXT, "isPresent"})
DRAINS = frozenset({"drainTo"})  # move all elements to the collection in the argument
CLEARS = frozenset({"clear"})
CLEANUP = frozenset(  # in `finally`, they release a resource
    "close unlock release stop disconnect finish end".split()
)
REORDERING = frozenset(
    "sort reverse shuffle rotate swap".split()
)  # change the order of a collection, not its size
AGGREGATES = frozenset(  # functions that only read a collection
    "sum max min any all join frequency binarySearch".split()
)
CONTAINER_VIEWS = frozenset(
    "items values keys copy itervalues iteritems iterkeys entrySet keySet iterator listIterator stream descendingIterator "
    "_replace asMap subList elements toArray parallelStream sorted distinct collect toList".split()
)
LIVE_VIEWS = frozenset(  # of these, those that write through to the collection
    "keySet entrySet values subList iterator listIterator descendingIterator".split()
)

PURE_PREFIXES = frozenset(  # names of pure methods: one of these, or one of these and a capital letter
    "is has get contains size length startsWith endsWith".split()
)
IMMUTABLE_TYPES = frozenset(  # types without mutable state
    "String Integer Long Boolean Short Byte Double Float Character Optional OptionalInt OptionalLong "
    "OptionalDouble BigDecimal BigInteger UUID Instant Duration LocalDate LocalDateTime ZonedDateTime "
    "Tuple TupleImpl Fields boolean int long short byte double float char".split()
)

THREADS = frozenset(
    "Thread Timer submit apply_async map_async imap starmap_async start_new_thread run_in_executor "
    "run_coroutine_threadsafe add_done_callback spawn spawn_later spawn_after Greenlet deferToThread "
    "callInThread call_in_thread to_thread".split()
)

SCHEDULERS = frozenset(
    "call_later call_soon call_soon_threadsafe create_task ensure_future add_callback add_callbacks add_errback "
    "addCallback addCallbacks addErrback addBoth callLater subscribe register on_delivery add_listener after".split()
)

CLIENT_CALLBACKS = (
    frozenset(  # of a future of kafka-python or the Cassandra driver, which run them on their own threads
        "add_callback add_callbacks add_errback".split()
    )
)

ASYNC_SUFFIX = "async"  # of calls that return at once: `putAsync(row, callback)`

EXECUTORS = frozenset(  # if an argument is a callable
    "execute submit runAsync supplyAsync schedule scheduleAtFixedRate scheduleWithFixedDelay invokeAll start send "
    "thenAcceptAsync thenApplyAsync thenRunAsync whenCompleteAsync handleAsync executeAsync addCallback addListener "
    "publish".split()
)
AMBIGUOUS_EXECUTORS = (
    frozenset(  # of these, those that a template or a retry has as well, which runs the code at once
        "execute".split()
    )
)
EXECUTOR_WORDS = frozenset(  # in the name of an object of unknown type: it has threads of its own
    "executor executors pool pools thread threads worker workers scheduler timer async background loop".split()
)
THREAD = "Thread"  # what runs a task of an inner class
THREAD_STARTS = frozenset({"start"})
TASKS = frozenset(
    "submit execute runAsync supplyAsync start_new_thread Thread Timer".split()
)  # of these, those that run it once
FUTURE_READS = frozenset("get join".split())  # wait for a task, and raise its failure
ERROR_TYPES = ("Exception", "Throwable", "Error")  # ends of the types of a callback's parameter for a failure
ERROR_NAMES = frozenset(
    "e ex exc err error exception failure cause throwable thrown".split()
)  # without a type
ERROR_STAGES = frozenset(  # the callback gets only errors; what it returns takes the result's place
    "exceptionally exceptionallyAsync addErrback onFailure onError doOnError".split()
)
THREAD_CLASSES = frozenset({"Thread"})  # whose `start` runs the object's own `run`
RUN = "run"  # of a task or a thread
TASK_METHODS = (RUN, "call")  # of an object that a thread executes

IMMEDIATE_CALLBACKS = frozenset(
    "forEach forEachOrdered ifPresent ifPresentOrElse forEachRemaining".split()
)  # call their argument before they return

COROUTINE_RUNS = frozenset(
    {"run", "run_until_complete"}
)  # of asyncio: they return when their coroutine has ended

PLAIN_BASES = frozenset(
    "Serializable Runnable Callable Comparable Comparator Closeable AutoCloseable Cloneable Object Iterable "
    "Externalizable Constants Function".split()
)  # bases that pass on no handler

EXCEPTION_SUFFIXES = ("Exception", "Error", "Throwable")
CATCH_ALL = frozenset("Exception BaseException StandardError Throwable".split())
STOPS = frozenset(  # raised when another thread ends this one or the process, never by the work itself
    "InterruptedException WakeupException KeyboardInterrupt SystemExit GeneratorExit".split()
)
BUILTIN_EXCEPTIONS = {  # of Python, each with its parent; an alias has the class as its parent
    name: each.__name__ if name != each.__name__ else each.__mro__[1].__name__
    for name, each in vars(builtins).items()
    if isinstance(each, type) and issubclass(each, BaseException)
}
EXCEPTIONS = {
    **BUILTIN_EXCEPTIONS,
    "Exception": "Throwable",
    "Error": "Throwable",
    "RuntimeException": "Exception",
    **dict.fromkeys(
        "IOException InterruptedException ExecutionException TimeoutException CloneNotSupportedException "
        "ClassNotFoundException NoSuchMethodException NoSuchFieldException IllegalAccessException InstantiationException "
        "InvocationTargetException ParseException SQLException URISyntaxException GeneralSecurityException "
        "JSONException SAXException ParserConfigurationException TransformerException".split(),
        "Exception",
    ),
    **dict.fromkeys(
        "FileNotFoundException UnsupportedEncodingException MalformedURLException UnknownHostException EOFException "
        "SocketException SocketTimeoutException UncheckedIOException JsonProcessingException JsonParseException "
        "JsonMappingException ConnectException CharacterCodingException".split(),
        "IOException",
    ),
    **dict.fromkeys(
        "IllegalArgumentException IllegalStateException NullPointerException ClassCastException "
        "IndexOutOfBoundsException UnsupportedOperationException ArithmeticException NoSuchElementException "
        "ConcurrentModificationException FailedException DateTimeException SecurityException UncheckedIOException "
        "CompletionException CancellationException".split(),
        "RuntimeException",
    ),
    "NumberFormatException": "IllegalArgumentException",
    "ReportedFailedException": "FailedException",
    "ArrayIndexOutOfBoundsException": "IndexOutOfBoundsException",
    "StringIndexOutOfBoundsException": "IndexOutOfBoundsException",
    "InputMismatchException": "NoSuchElementException",
    "DateTimeParseException": "DateTimeException",
    "OutOfMemoryError": "Error",
    "StackOverflowError": "Error",
    "AssertionError": "Error",
    "NoClassDefFoundError": "Error",
}

TRANSPARENT_DECORATORS = frozenset(
    "staticmethod classmethod override final wraps update_wrapper abstractmethod lru_cache cache wrapt total_ordering "
    "typechecked beartype identity profile timeit log_calls".split()
)

# ---- objects that hold one value ----

EVENT = "Event"
VALUE_HOLDERS = {  # classes, with the initial value
    "AtomicBoolean": False,
    "AtomicInteger": 0,
    "AtomicLong": 0,
    "AtomicReference": None,
    "MutableBoolean": False,
    EVENT: False,
}
VALUE_READS = frozenset("get getPlain getAcquire is_set isSet booleanValue isTrue getValue".split())
VALUE_SETS = frozenset("set lazySet setPlain setRelease setValue".split())
VALUE_TAKES = frozenset("getAndSet compareAndSet clear".split())
EVENT_METHODS = frozenset("is_set isSet set clear".split())
ARRAY_ZEROES = {"boolean": False, "int": 0, "long": 0}  # the initial elements of an array, by their type

# ---- loops ----

RANGES = frozenset("range xrange".split())
NUMBERING = frozenset({"enumerate"})  # iterate over pairs of number and element
PAIRING = frozenset("zip izip zip_longest".split())
PARTS = frozenset({"islice"})
FULL_VIEWS = frozenset(  # methods, and functions, whose result has each element once
    "items values keys iteritems itervalues iterkeys entrySet keySet copy".split()
)
FULL_ITERATORS = frozenset("enumerate iter list reversed sorted tuple".split())
ITERATORS = frozenset("iter iterator listIterator".split())

# ---- types ----

INTEGER_TYPES = frozenset("int long short byte Integer Long Short Byte".split())
TYPE_WORDS = {  # the words of `Verb.types`, by type
    **dict.fromkeys("String CharSequence StringBuilder".split(), "text"),
    **dict.fromkeys(INTEGER_TYPES, "number"),
    **dict.fromkeys("Tuple TupleImpl".split(), "tuple"),
    **dict.fromkeys(
        "Values List ArrayList LinkedList Collection Set HashSet Queue Deque Object Iterable Stack Vector "
        "ImmutableList CopyOnWriteArrayList ArrayDeque LinkedHashSet TreeSet".split(),
        "list",
    ),
}
RESULT_TYPE_WORDS = {  # the same, by the call that returns the value
    **dict.fromkeys(
        "asList of singletonList newArrayList values getValues toList emptyList singleton copyOf collect get getNew "
        "getExpired unmodifiableList keySet subList".split(),
        "list",
    ),
    **dict.fromkeys(
        "toString format getString getStringByField getSourceStreamId getSourceComponent name join concat valueOf "
        "toLowerCase toUpperCase trim substring getStreamId streamId".split(),
        "text",
    ),
    **dict.fromkeys(
        "currentTimeMillis nanoTime size length getInteger getIntegerByField getLong getLongByField parseInt parseLong "
        "intValue longValue incrementAndGet getAndIncrement nextInt nextLong hashCode".split(),
        "number",
    ),
}

# ---- calls that may raise although their name says the opposite ----

METRICS = frozenset(  # words of names; metrics are assumed not to raise
    "metric metrics stats statsd counter counters count meter timer gauge monitor histogram log logger logging".split()
)
ACCESSES = frozenset(  # names that a client of a remote store shares with collections
    "get set add update items keys values list setdefault append appendleft extend discard count incr increment "
    "incrBy clear contains containsKey getOrDefault putIfAbsent addAll size length iterator equals copy".split()
)

MAP_CHANGES = frozenset({"put", "putAll", "merge"})  # they do not raise on a map of the standard library

# ---- calls that make code, and reflection ----

PARTIALS = frozenset({"partial"})
WRAPS = frozenset({"wraps"})  # return a decorator that changes nothing
ATTRIBUTE_WRITES = frozenset({"setattr"})
ATTRIBUTE_TABLE = "__dict__"
CLASS_OF = "__class__"


# ---- what differs between languages ----


class Wait(NamedTuple):
    """A call that waits until another thread or process sends something, unless an argument limits the time.

    `origin` are prefixes of the qualified name of the object, `needed` the number of arguments that set no limit.
    Another argument does, unless it is one of `endless`.  `setting` limits the time as well; the code that makes the
    object shows `beside`, another of its settings, or else the settings are not read.
    """

    name: str
    origin: tuple[str, ...]
    needed: int = 0
    endless: tuple[object, ...] = (True, None)
    setting: str = ""
    beside: str = ""


class Library(NamedTuple):
    """What calls mean in one language; a call is known by the last part of its name."""

    standard: tuple[str, ...]  # prefixes of qualified names: the standard library
    local: tuple[str, ...]  # prefixes of qualified names: objects that live in the process
    remote: tuple[str, ...]  # prefixes, stronger than `local`: objects that talk to another process or a file
    memory: tuple[str, ...]  # prefixes: objects that only compute, such as collections, dates and texts
    threads: frozenset[str]  # run a callable among their arguments on another thread
    schedulers: frozenset[str]  # call a callable among their arguments later
    declared_types: bool = False  # the language declares the type of every object
    memory_types: frozenset[str] = frozenset()  # of these objects, those known by the last part of their name
    shared: tuple[str, ...] = ()  # prefixes, stronger than `memory`: objects that wait for other threads
    waits: tuple[Wait, ...] = ()
    sleeps: Mapping[
        str, float
    ] = {}  # calls that sleep, by the end of the qualified name, with the unit in seconds
    limits: frozenset[str] = frozenset()  # calls that limit the time of all later calls on an object
    executors: tuple[str, ...] = ()  # prefixes of types whose `execute` runs code on another thread
    runners: frozenset[str] = frozenset()  # of `threads`, those that call the `run` of an object
    literals: frozenset[str] = frozenset()  # collections of their arguments
    arrays: frozenset[str] = frozenset()  # of these, those that take one array as all elements
    lazy: frozenset[str] = frozenset()  # run only when the result is iterated
    nonempty: frozenset[str] = frozenset()  # return at least one element if they get a separator
    removals: frozenset[str] = frozenset()  # remove an element, and do not raise without one
    questions: tuple[str, ...] = ()  # beginnings of the names of calls that only read their arguments
    closed_callbacks: bool = (
        False  # code among the arguments of a runner is not passed to other code among them
    )
    array_arguments: bool = False  # one array may stand for all variable arguments

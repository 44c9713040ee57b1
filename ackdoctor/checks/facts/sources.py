"""Where a spout's records come from, told by the libraries it reads them with.

A `Source` says what could be done about a lost record.  Names are the first parts of qualified names
("kafka.KafkaConsumer" belongs to "kafka"); the module of the project that wraps a library is known by
the words in its name ("utils.my_kafka.Reader").
"""

import re
from collections.abc import Iterable
from enum import IntEnum, unique

__all__ = ["Source", "source_of"]


@unique
class Source(IntEnum):
    """What could be replayed; where several apply the greatest counts."""

    UNKNOWN = 0
    FILE = 1  # lines can be read again
    GENERATED = 2  # made up on the spot, even when it picks lines of a file
    LIVE = 3  # a feed that cannot be asked again
    KEPT = 4  # a log, queue server or database hands its records over one by one

    @property
    def replayable(self) -> bool:
        """Whether the record could be had a second time."""
        return self in (Source.FILE, Source.KEPT)


_KEPT = frozenset(
    "kafka confluent_kafka pykafka aiokafka samsa brod faust pulsar nsq gnsq disque "
    "redis rediscluster aioredis rq walrus hotqueue redis_collections "
    "pika amqp amqplib kombu haigha aio_pika puka rabbitpy kiwi celery "
    "stomp stompest proton qpid "
    "beanstalkc beanstalkt pystalkd greenstalk pystalk "
    "boto boto3 botocore aiobotocore aioboto3 kinesis kcl amazon_kclpy sqs "
    "google.cloud azure.servicebus azure.eventhub azure.storage "
    "pymongo motor mongoengine mongokit "
    "psycopg2 psycopg asyncpg MySQLdb pymysql mysql sqlite3 sqlalchemy peewee django.db pyodbc pymssql cx_Oracle "
    "oracledb ibm_db jaydebeapi "
    "cassandra pycassa cql happybase phoenixdb hbase impala pyhive pyhs2 elasticsearch pysolr influxdb couchdb "
    "neo4j py2neo rethinkdb aerospike riak tarantool memcache".split()
)
_LIVE = frozenset(
    "tweepy twitter twython birdy tushare praw feedparser requests urllib urllib2 urllib3 httplib http httplib2 aiohttp httpx "
    "pycurl socket websocket websockets zmq nanomsg paho mosquitto serial smbus bluetooth scapy pcap cv2 psutil "
    "sseclient irc slackclient slack_sdk blockchain bs4 scrapy selenium telnetlib imaplib poplib sys.stdin fileinput".split()
)
_GENERATED = frozenset(
    "random itertools.cycle numpy.random faker uuid secrets "
    "java.util.Random java.util.SplittableRandom java.util.concurrent.ThreadLocalRandom java.security.SecureRandom".split()
)
_FILE = frozenset(
    "open io.open codecs.open gzip bz2 zipfile tarfile csv glob os.listdir os.walk os.scandir pathlib linecache "
    "pandas shelve pickle json.load xml.etree lxml xlrd openpyxl avro fastavro hdfs pyarrow h5py mailbox".split()
)
_TABLES = ((_KEPT, Source.KEPT), (_LIVE, Source.LIVE), (_GENERATED, Source.GENERATED), (_FILE, Source.FILE))

_WORDS = re.compile(
    r"kafka|rabbit|redis|sqs|kinesis|amqp|pubsub|mongo|beanstalk|cassandra|mysql|postgres", re.IGNORECASE
)


def source_of(names: Iterable[str]) -> Source:
    """The source that these qualified names speak of."""
    return max((_one(name) for name in names), default=Source.UNKNOWN)


def _one(name: str) -> Source:
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        head = ".".join(parts[:length])
        for table, source in _TABLES:
            if head in table:
                return source
    return Source.KEPT if _WORDS.search(name) else Source.UNKNOWN

/** Log records, handed to the program's own logging, or to the platform's. */
package incumbent

import incumbent.raw.keepLogs
import incumbent.raw.takeLogs
import kotlin.concurrent.thread
import incumbent.raw.LogLevel as RawLogLevel

/** A log record. */
public data class LogRecord(
    /** The level. */
    val level: System.Logger.Level,
    /** The module that logs it. */
    val target: String,
    /** The text. */
    val message: String,
    /** The fields of the record: `election`, `candidate`, `term`. */
    val fields: Map<String, String>,
)

/** Receives log records, on a separate thread. */
public fun interface LogSink {
    /** Takes a record. An error of the sink is dropped. */
    public fun take(record: LogRecord)
}

/** The receiver of records that the program or the first store has chosen; null before that. */
@Volatile
private var receiver: LogSink? = null

private val CHOOSING = Any()

/** The receiver if the program wants no records. */
private val NOTHING = LogSink { }

/**
 * Hands the log records of at least that level to `sink`; by default to the platform's logger `incumbent`. `INFO`
 * covers the beginning and end of terms, and problems for a person to look at; `DEBUG` adds decisions, `TRACE` messages
 * to and from the store. `OFF` turns logging off. A later call replaces an earlier one. Without a call, warnings and
 * errors go to the platform's logger as soon as a store is opened, including why a program waits.
 */
@JvmOverloads
public fun logTo(level: System.Logger.Level = System.Logger.Level.INFO, sink: LogSink = systemLogger()) {
    val least = when (level) {
        System.Logger.Level.OFF -> null
        System.Logger.Level.ALL, System.Logger.Level.TRACE -> RawLogLevel.TRACE
        System.Logger.Level.DEBUG -> RawLogLevel.DEBUG
        System.Logger.Level.INFO -> RawLogLevel.INFO
        System.Logger.Level.WARNING -> RawLogLevel.WARNING
        System.Logger.Level.ERROR -> RawLogLevel.ERROR
    }
    synchronized(CHOOSING) { keep(least, if (least == null) NOTHING else sink) }
}

/** Hands warnings and errors to the platform's logger, unless the program has called [logTo]. */
internal fun logWarnings() {
    synchronized(CHOOSING) {
        if (receiver == null) {
            keep(RawLogLevel.WARNING, systemLogger())
        }
    }
}

private fun keep(least: RawLogLevel?, chosen: LogSink) {
    receiver = chosen
    if (translating { keepLogs(least) }) {
        thread(isDaemon = true, name = "incumbent-log") {
            while (true) {
                val records = unlessOver(emptyList()) { takeLogs() }
                if (records.isEmpty()) {
                    break
                }
                records.forEach { record -> runCatching { receiver?.take(record.toRecord()) } }
            }
        }
    }
}

private fun systemLogger(): LogSink {
    val logger = System.getLogger("incumbent")
    return LogSink { record ->
        val fields = record.fields.toSortedMap().entries.joinToString("") { (name, value) -> " $name=$value" }
        logger.log(record.level, record.message + fields)
    }
}

private fun incumbent.raw.LogRecord.toRecord(): LogRecord {
    val level = when (level) {
        RawLogLevel.TRACE -> System.Logger.Level.TRACE
        RawLogLevel.DEBUG -> System.Logger.Level.DEBUG
        RawLogLevel.INFO -> System.Logger.Level.INFO
        RawLogLevel.WARNING -> System.Logger.Level.WARNING
        RawLogLevel.ERROR -> System.Logger.Level.ERROR
    }
    return LogRecord(level, target, text, fields)
}

/** Processes that the tests start. */
package incumbent

import incumbent.conformance.JSON
import java.io.File
import java.io.IOException
import java.net.ServerSocket
import java.net.Socket
import java.nio.file.Files
import java.util.concurrent.CopyOnWriteArrayList
import java.util.concurrent.LinkedBlockingQueue
import java.util.concurrent.TimeUnit
import kotlin.concurrent.thread
import kotlin.time.Duration
import org.junit.jupiter.api.Assertions.assertTrue

/** A program that `cargo xtask test kotlin` names in the environment. */
fun tool(variable: String): String =
    checkNotNull(System.getenv(variable)) { "$variable is not set: run `cargo xtask test kotlin`" }

/** The program that takes part in elections of several languages, if it is built. */
fun optional(variable: String): String? = System.getenv(variable)?.ifEmpty { null }

val CLI: String get() = tool("INCUMBENT_CLI")
val HARNESS: String get() = tool("INCUMBENT_HARNESS")

/** The address of a Kafka broker that tests share; null if there is none. */
val BROKER: String? get() = System.getenv("INCUMBENT_KAFKA")

private fun Process.signal(name: String) {
    assertTrue(ProcessBuilder("kill", "-$name", "${pid()}").start().waitFor() == 0)
}

/** Reads the output to its end, or until Java closes it because the process is destroyed. */
private fun Process.lines(each: (String) -> Unit) {
    try {
        inputStream.bufferedReader().forEachLine(each)
    } catch (gone: IOException) {
        // The test is over.
    }
}

/** A program whose lines of output are read one by one; it is killed at the end of the test. */
class Program(vararg command: String) : AutoCloseable {
    private val process: Process = ProcessBuilder(*command).redirectError(ProcessBuilder.Redirect.INHERIT).start()
    private val lines = LinkedBlockingQueue<String>()
    private val reader = thread(isDaemon = true) {
        process.lines { lines.add(it) }
        lines.add(OVER)
    }

    /** Waits for a line that begins with that word, and returns the rest. */
    fun expect(word: String, limit: Duration = LIMIT): String {
        val until = System.nanoTime() + limit.inWholeNanoseconds
        while (true) {
            val line = lines.poll(until - System.nanoTime(), TimeUnit.NANOSECONDS)
            check(line != null && line !== OVER) { "the program does not print $word; alive: ${process.isAlive}" }
            if (line == word || line.startsWith("$word ")) return line.removePrefix(word).trim()
        }
    }

    fun say(line: String) {
        process.outputStream.write("$line\n".toByteArray())
        process.outputStream.flush()
    }

    fun signal(name: String) = process.signal(name)

    /** Waits for the end, and returns the exit status. */
    fun ended(): Int {
        check(process.waitFor(LIMIT.inWholeSeconds, TimeUnit.SECONDS)) { "the program does not end" }
        reader.join()
        return process.exitValue()
    }

    override fun close() {
        process.destroyForcibly().waitFor()
    }

    companion object {
        /** Marks the end of the output. */
        private val OVER = String(charArrayOf('.'))
    }
}

/** The time during which a candidate certainly led, by its own answers. */
data class Leadership(val who: String, val token: Token, val from: Long, val until: Long)

/** A candidate in its own process, which writes a line of JSON each time that it leads. */
class Contender(val name: String, vararg command: String) : AutoCloseable {
    private class View(val token: Token, val before: Long, val after: Long)

    private val process = ProcessBuilder(*command).redirectError(ProcessBuilder.Redirect.INHERIT).start()
    private val views = CopyOnWriteArrayList<View>()
    private val reader = thread(isDaemon = true) {
        process.lines { line ->
            // The command line's own lines are not JSON.
            if (line.startsWith("{\"event\":\"leads\"") || line.startsWith("{\"event\": \"leads\"")) {
                val view = JSON.readTree(line)
                val token = checkNotNull(Token.parse(view["token"].asText())) { line }
                views.add(View(token, view["before"].asLong(), view["after"].asLong()))
            }
        }
    }

    /** The contender's newest token, once it has led with that token for a while. */
    fun leads(): Token? = views.lastOrNull()?.token?.takeIf { token -> views.count { it.token == token } >= ENOUGH }

    /** The times at which it led; known once it is closed. */
    fun leaderships(): List<Leadership> =
        views.groupBy { it.token }.map { (token, seen) -> Leadership(name, token, seen.first().after, seen.last().before) }

    /** Kills it, and reads the rest of its output. */
    override fun close() {
        if (process.isAlive) process.signal("KILL")
        process.waitFor()
        reader.join()
    }

    private companion object {
        /** The number of records after which a leader is replaced. */
        const val ENOUGH = 20
    }
}

/** The command of a main class of the tests. */
fun java(main: String, vararg arguments: String): Array<String> {
    val java = File(System.getProperty("java.home"), "bin/java").path
    val path = System.getProperty("java.class.path")
    val quick = arrayOf("-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
    return arrayOf(java, *quick, "-cp", path, main, *arguments)
}

/** A real nats-server. */
class NatsServer : AutoCloseable {
    private val folder = Files.createTempDirectory("incumbent-kotlin-").toFile()
    private val process: Process
    private val address: String

    init {
        val port = ServerSocket(0).use { it.localPort }
        process = ProcessBuilder(tool("NATS_SERVER"), "-a", "127.0.0.1", "-p", "$port", "-js", "-sd", folder.path)
            .redirectErrorStream(true).redirectOutput(File(folder, "log")).start()
        address = "nats://127.0.0.1:$port"
        val until = System.nanoTime() + LIMIT.inWholeNanoseconds
        while (!answers(port)) {
            check(process.isAlive && System.nanoTime() < until) { File(folder, "log").readText() }
            Thread.sleep(5)
        }
    }

    /** The URL of a bucket that may not exist. */
    fun url(bucket: String): String = "$address/$bucket"

    /** Creates a bucket for candidates with that lease, and returns its URL. */
    fun bucket(name: String, lease: String): String {
        val url = url(name)
        commandLine("init", "--store", url, "--lease", lease, "--new")
        return url
    }

    /** Takes the lease away from an election's leader. */
    fun evict(url: String, election: String) = commandLine("evict", "--store", url, "--key", election, "--yes")

    private fun commandLine(vararg words: String) {
        val program = ProcessBuilder(CLI, *words).redirectErrorStream(true).start()
        val output = program.inputStream.readBytes().decodeToString()
        check(program.waitFor() == 0) { output }
    }

    private fun answers(port: Int): Boolean = runCatching {
        Socket("127.0.0.1", port).use { it.soTimeout = 1000; it.inputStream.read() == 'I'.code }
    }.getOrDefault(false)

    override fun close() {
        process.destroyForcibly().waitFor()
        folder.deleteRecursively()
    }
}

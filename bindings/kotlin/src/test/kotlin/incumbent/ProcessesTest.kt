/** Elections between processes, on a real nats-server: fail-over, signals, and the command line. */
package incumbent

import java.io.File
import java.net.ServerSocket
import kotlin.time.Duration.Companion.minutes
import kotlin.time.Duration.Companion.seconds
import org.junit.jupiter.api.AfterAll
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.BeforeAll
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.TestInstance
import org.junit.jupiter.api.assertThrows
import org.junit.jupiter.api.io.TempDir

@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ProcessesTest {
    private lateinit var server: NatsServer

    /** A bucket with short leases, for elections whose leader is killed. */
    private lateinit var bucket: String

    @BeforeAll
    fun start() {
        server = NatsServer()
        bucket = server.bucket("ELECTIONS", "2s")
    }

    @AfterAll
    fun stop() {
        server.close()
    }

    private fun token(text: String): Token = checkNotNull(Token.parse(text)) { text }

    /** The settings of a candidate of this process, with the bucket's short lease. */
    private val second = CampaignSettings().apply {
        name = "second"
        preset = Preset.FAST
        splay = 0.seconds
    }

    @Test
    fun `a worker that is terminated drains, releases at once and is followed`() = looping {
        Program(*java("programs.WorkerKt", bucket, "first")).use { first ->
            val before = token(first.expect("won"))
            connect(bucket).use { store ->
                val candidate = store.campaign("jobs", second)
                until("it waits") { candidate.leader?.name == "first" }
                first.signal("TERM")
                first.expect("drained")
                candidate.nextTerm()!!.use { assertTrue(it.term.token > before) }
                assertEquals(128 + 15, first.ended())
            }
        }
    }

    @Test
    fun `a worker that is killed is followed when its lease is over`() = looping {
        Program(*java("programs.WorkerKt", bucket, "first")).use { first ->
            val before = token(first.expect("won"))
            connect(bucket).use { store ->
                val candidate = store.campaign("jobs", second)
                first.signal("KILL")
                candidate.nextTerm()!!.use { assertTrue(it.term.token > before) }
            }
        }
    }

    @Test
    fun `a leader that was stopped beyond its lease knows at its first line`() = looping {
        Program(*java("programs.AskedKt", bucket)).use { first ->
            val before = token(first.expect("won"))
            first.signal("STOP")
            connect(bucket).use { store ->
                // Kept to the end, because without it the stopped process may lead again before it answers.
                val other = store.campaign("jobs", second)
                // Asked before it continues, so that the answer is its first action.
                first.say("?")
                other.nextTerm()!!.use { assertTrue(it.term.token > before) }
                first.signal("CONT")
                assertEquals("false false 0", first.expect("leads"))
            }
        }
    }

    @Test
    fun `Kotlin follows the command line, and the command line Kotlin`() = looping {
        val run = arrayOf(
            CLI, "run", "--store", bucket, "--key", "jobs", "--name", "cli", "--preset", "fast", "--once",
            "--", "sh", "-c", "echo token \$INCUMBENT_TOKEN; exec sleep 600",
        )
        val tokens = mutableListOf<Token>()
        connect(bucket).use { store ->
            val candidate = Program(*run).use { supervisor ->
                tokens += token(supervisor.expect("token"))
                val waiting = store.campaign("jobs", second)
                supervisor.signal("TERM")
                supervisor.ended()
                waiting
            }
            tokens += candidate.nextTerm()!!.use { it.term.token }
            Program(*run).use { supervisor ->
                candidate.close()
                tokens += token(supervisor.expect("token"))
                supervisor.signal("TERM")
                supervisor.ended()
            }
        }
        assertEquals(tokens.sorted().distinct(), tokens)
        assertEquals(3, tokens.size)
    }

    @Test
    fun `candidates in Kotlin, Swift, Python, Node and of the command line never lead together`() = looping {
        val url = server.bucket("LANGUAGES", "2s")
        val key = "jobs.processes"
        val programs = "../wasmtime-host/tests/nats_component/programs"
        val run = arrayOf(CLI, "run", "--store", url, "--key", key, "--name", "cli", "--preset", "fast", "--")
        val all = listOfNotNull(
            Contender("kotlin", *java("programs.Contender", url, key, "kotlin")),
            Contender("cli", *run, *java("programs.Commanded")),
            optional("INCUMBENT_PYTHON")?.let { Contender("python", it, "$programs/contender.py", url, key, "python") },
            optional("INCUMBENT_SWIFT")?.let { Contender("swift", it, "contender", url, key, "swift") },
            optional("INCUMBENT_NODE")?.let { Contender("node", "node", "$programs/contender.mjs", it, url, key, "node") },
        )
        val racing = all.toMutableList()
        var last: Token? = null
        try {
            while (racing.isNotEmpty()) {
                lateinit var leader: Contender
                until("a leader with a larger token than $last") {
                    val found = racing.find { one -> one.leads()?.let { token -> last?.let { it < token } ?: true } ?: false }
                    found?.let { leader = it } != null
                }
                last = leader.leads()
                racing.remove(leader)
                leader.close()
            }
        } finally {
            racing.forEach { it.close() }
        }
        val history = all.flatMap { it.leaderships() }.sortedBy { it.from }
        for ((one, next) in history.zipWithNext()) {
            assertTrue(one.until < next.from, "two led at once: $one, $next")
            assertTrue(one.token < next.token, "a token does not grow: $one, $next")
        }
        assertEquals(all.map { it.name }.toSet(), history.map { it.who }.toSet(), "each has led")
    }

    @Test
    fun `a bucket is made, and one that differs is an error and changed only when asked to`() = looping {
        val url = server.url("INIT")
        assertThrows<NotFoundException> { connect(url) }
        val made = init(url) { lease = 5.seconds }
        assertEquals(InitReport(created = true, updated = false, neverUsed = false, 5.seconds, null, emptyList()), made)
        val refused = assertThrows<UnsafeStoreException> { init(url) { lease = 10.seconds } }
        assertTrue("max_age (lease) is 5s, and should be 10s" in refused.message!!, refused.message)
        val changed = init(url) { lease = 10.seconds; update = true }
        assertEquals(listOf(true, 10.seconds), listOf(changed.updated, changed.lease))
        assertEquals(listOf(InitReport.Difference("max_age", "5s", "10s")), changed.differences)
    }

    @Test
    fun `a program that asks for no log shows the reason for its wait`(@TempDir folder: File) {
        val young = "sqlite:$folder/young.db?create=true"
        val free = ServerSocket(0).use { it.localPort }
        val program = java("programs.WaitsKt", young, "nats://127.0.0.1:$free/B")
        val waiting = ProcessBuilder(*program).redirectErrorStream(true).start()
        try {
            val expected = mutableSetOf(
                "WARNING: the store is new: waiting",
                "WARNING: waiting for the store, which does not answer yet",
            )
            val output = waiting.inputStream.bufferedReader()
            while (expected.isNotEmpty()) {
                // The program ends by itself, with its output.
                val line = checkNotNull(output.readLine()) { "it does not print: $expected" }
                expected.removeIf { it in line }
            }
        } finally {
            waiting.destroyForcibly().waitFor()
        }
    }

    @Test
    fun `the README's workers lead, and lead again after their lease was taken away`() {
        val url = server.bucket("README", "10s")
        for (main in listOf("readme.WorkerKt", "readme.JavaWorker")) {
            Program(*java(main, url)).use { worker ->
                val first = token(worker.expect("leading with token"))
                server.evict(url, "billing-cron")
                // A worker may print the same token again before it hears of the new one.
                while (token(worker.expect("leading with token")) == first) Unit
            }
        }
    }

    @Test
    fun `the examples work while they lead, and a second one follows`(@TempDir folder: File) {
        val tokens = mutableListOf<Token>()
        for (main in listOf("examples.ScheduledJobKt", "examples.ScheduledJob")) {
            Program(*java(main, "sqlite:$folder/elections.db?create=true")).use { job ->
                tokens += token(job.expect("the invoices go out with token"))
                job.signal("TERM")
                job.ended()
            }
        }
        assertTrue(tokens[0] < tokens[1])
    }

    @Test
    fun `ten thousand campaigns that were closed leave neither memory nor files`() {
        Program(*java("programs.LeaksKt", "10000")).use { program ->
            // The program computes for a minute, and for several minutes next to other tests.
            val (before, after) = listOf("before", "after").map { at -> program.expect(at, 15.minutes).split(' ').map { it.toLong() } }
            assertEquals(0, program.ended())
            assertEquals(before[2], after[2], "files")
            // 100 bytes for each campaign would be a leak.
            assertTrue(after[0] - before[0] < 800_000, "heap: $before, $after")
            assertTrue(after[1] - before[1] < 40_000_000, "resident: $before, $after")
        }
    }
}

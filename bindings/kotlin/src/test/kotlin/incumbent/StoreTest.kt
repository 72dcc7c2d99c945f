/** Stores, settings, errors, health and logs. */
package incumbent

import incumbent.raw.errorCodes
import incumbent.testing.faultyStore
import java.io.File
import java.util.concurrent.CountDownLatch
import java.util.concurrent.Executor
import java.util.concurrent.Executors
import java.util.concurrent.LinkedBlockingQueue
import java.util.concurrent.RejectedExecutionException
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicBoolean
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.asCoroutineDispatcher
import kotlinx.coroutines.async
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertNotNull
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.assertThrows
import org.junit.jupiter.api.io.TempDir
import incumbent.raw.Reason as RawReason
import incumbent.raw.State as RawState

class StoreTest {
    @Test
    fun `a store elects, and shows its leader and its candidates`() = looping {
        connect("memory:").use { store ->
            val first = store.campaign("jobs", quick("a").apply { metadata = mapOf("zone" to "b") })
            first.nextTerm()!!.close()
            val second = store.campaign("jobs", quick("b"))
            assertEquals("a", store.leader("jobs")?.name)
            assertEquals(mapOf("zone" to "b"), store.leader("jobs")?.metadata)
            assertEquals(listOf("jobs" to "a"), store.list().map { it.election to it.leader?.name })
            assertEquals(setOf("a", "b"), store.candidates("jobs")?.map { it.name }?.toSet())
            assertEquals("a", store.observe("jobs").first { it.leader != null }.leader?.name)
            first.handOver("b")
            assertEquals("b", second.nextTerm()!!.use { second.name })
            assertThrows<NotLeaderException> { first.handOver("b") }
        }
    }

    @Test
    fun `what is closed refuses, and closing twice is no error`() = looping {
        val store = connect("memory:")
        val candidate = store.campaign("jobs", quick())
        store.close()
        store.close()
        candidate.close()
        assertEquals(State.CLOSED, candidate.state)
        assertEquals(Code.CLOSED, assertThrows<ClosedException> { store.campaign("jobs", quick()) }.code)
        until("it is forgotten") { candidate !in Candidate.campaigning }
    }

    @Test
    fun `settings that do not fit are refused with their names`() = looping {
        val unknown = assertThrows<InvalidSettingException> { connect("memory:") { parameter("credz", "a") } }
        assertTrue("credz" in unknown.message!!, unknown.message)
        assertThrows<InvalidUrlException> { connect("carrier-pigeon:") }
        val padded = assertThrows<InvalidUrlException> { connect("memory:n\n") }
        assertTrue("the store's URL ends in the character '\\n'" in padded.message!!, padded.message)
        connect("memory:").use { store ->
            val drift = assertThrows<InvalidSettingException> { store.campaign("jobs") { driftPpm = -1 } }
            assertTrue("driftPpm is -1" in drift.message!!, drift.message)
            val watch = assertThrows<InvalidSettingException> { store.campaign("jobs") { watchLimit = 1.milliseconds } }
            assertTrue("watchLimit" in watch.message!!, watch.message)
            val key = assertThrows<InvalidSettingException> { store.campaign("jobs") { metadata = mapOf("drift_ppm" to "x") } }
            assertTrue("metadata key is \"drift_ppm\", and" in key.message!!, key.message)
            val lease = assertThrows<InvalidSettingException> { store.campaign("jobs") { lease = (-1).seconds } }
            assertTrue("lease is -1s" in lease.message!!, lease.message)
        }
    }

    @Test
    fun `a file that is stated to be new has a leader at once`(@TempDir folder: File) = looping {
        val url = "sqlite:$folder/new.db"
        val made = InitReport(created = true, updated = false, neverUsed = true, lease = null, topic = null, emptyList())
        assertEquals(made, init(url) { new = true })
        assertEquals(made.copy(created = false), init(url))
        connect(url).use { store ->
            withTimeout(10.seconds) { store.campaign("jobs") { splay = 0.seconds }.nextTerm()!!.close() }
        }
    }

    @Test
    fun `a preparation that does not fit is refused by the names of the settings, and makes nothing`(@TempDir folder: File) =
        looping {
            val url = "sqlite:$folder/e.db"
            val expected = mapOf<InitSettings, String>(
                InitSettings().ownLeases(true) to "`ownLeases` is only for NATS buckets, and this is a file: leave it out",
                InitSettings().parameter("fresh", true) to "no setting \"fresh\": choose one of new, lease, replicas, maxBytes, markers, ownLeases",
                InitSettings().apply { lease = (-1).seconds } to "lease is -1s",
                InitSettings().replicas(-1) to "replicas is -1, and must be a whole number, not negative",
            )
            for ((settings, message) in expected) {
                val refused = assertThrows<InvalidSettingException> { init(url, settings) }
                assertTrue(message in refused.message!!, refused.message)
            }
            assertThrows<InvalidSettingException> { init("memory:") }
            assertEquals(emptyList<String>(), folder.list()!!.toList())
            assertThrows<NotFoundException> { init("sqlite:$folder/none/e.db") }
        }

    @Test
    fun `a missing file is reported with the call that creates it`(@TempDir folder: File) = looping {
        val missing = assertThrows<NotFoundException> { connect("sqlite:$folder/no.db?create=false") }
        assertTrue(missing.message!!.endsWith("; `init(url)` creates it"), missing.message)
    }

    @Test
    fun `a candidate in a new store reports how long it waits and what would shorten that`(@TempDir folder: File) = looping {
        connect("sqlite:$folder/young.db?create=true").use { store ->
            val candidate = store.campaign("jobs") { lease = LONG_LEASE; splay = 0.seconds }
            val warning = candidate.events().first { it is Event.Warning } as Event.Warning
            assertEquals("YOUNG_STORE", warning.code)
            assertTrue("`init(url) { new = true }` skips the wait" in warning.message, warning.message)
        }
    }

    @Test
    fun `the codes, reasons and states are those of the compiled part`() {
        assertEquals(errorCodes().keys, Code.entries.map { it.name }.toSet())
        assertEquals(RawReason.entries.map { it.name }, Reason.entries.map { it.name })
        assertEquals(RawState.entries.map { it.name }, State.entries.map { it.name })
        assertEquals(listOf(true, false), listOf(Code.STORE_UNAVAILABLE.isTemporary, Code.NOT_LEADER.isTemporary))
        assertEquals(listOf(true, false), listOf(Reason.RESIGNED.mayDrain, Reason.EXPIRED.mayDrain))
        assertTrue(Reason.entries.all { it.description.isNotEmpty() })
    }

    @Test
    fun `the stores of the build are listed`() {
        assertTrue(Store.STORES.containsAll(listOf("memory", "sqlite", "nats", "etcd")), "${Store.STORES}")
    }

    @Test
    fun `a store that does not answer is an error where that is asked for`() = looping {
        val error = assertThrows<StoreUnavailableException> {
            connect("nats://127.0.0.1:9/ELECTIONS") {
                failFast = true
                parameter("connect_timeout", "200ms")
            }
        }
        assertTrue(error.isTemporary)
    }

    @Test
    fun `a term whose store is gone ends by the clock, and its work with it`() = looping {
        faultyStore().use { faulty ->
            val settings = quick().apply { lease = 2.seconds }
            faulty.store.campaign("jobs", settings).use { candidate ->
                candidate.nextTerm()!!.use { hold ->
                    faulty.partition()
                    assertEquals(Reason.EXPIRED, hold.term.ended())
                    assertFalse(candidate.isLeader)
                }
            }
        }
    }

    @Test
    fun `an unhealthy candidate leaves until its check says otherwise`() = looping {
        connect("memory:").use { store ->
            val isHealthy = AtomicBoolean(true)
            val settings = quick().apply {
                watch = false
                healthInterval = 50.milliseconds
                health = HealthCheck { isHealthy.get() || error("on purpose") }
            }
            val candidate = store.campaign("jobs", settings)
            val first = candidate.nextTerm()!!.use { it.term }
            isHealthy.set(false)
            assertEquals(Reason.UNHEALTHY, first.ended())
            isHealthy.set(true)
            candidate.nextTerm(first)!!.use { assertTrue(first.token < it.term.token) }
        }
    }

    @Test
    fun `a dispatcher that is blocked makes its candidate unhealthy until it runs`() = looping {
        val thread = Executors.newSingleThreadExecutor()
        val dispatcher = thread.asCoroutineDispatcher()
        try {
            connect("memory:").use { store ->
                val settings = quick().apply { watchLimit = 200.milliseconds }
                val candidate = async(dispatcher) { store.campaign("jobs", settings) }.await()
                val first = candidate.nextTerm()!!.use { it.term }
                val go = CountDownLatch(1)
                launch(dispatcher) { go.await() }
                assertEquals(Reason.UNHEALTHY, first.ended())
                assertFalse(candidate.isLeader)
                go.countDown()
                candidate.nextTerm(first)!!.use { assertTrue(first.token < it.term.token) }
            }
        } finally {
            thread.shutdown()
        }
    }

    @Test
    fun `a dispatcher that is shut down makes its candidate unhealthy`() = looping {
        connect("memory:").use { store ->
            val thread = Executors.newSingleThreadExecutor()
            // Asked something four times within it.
            val settings = quick().apply { watchLimit = 200.milliseconds }
            val candidate = withContext(thread.asCoroutineDispatcher()) { store.campaign("jobs", settings) }
            val term = candidate.nextTerm()!!.use { it.term }
            thread.shutdown()
            assertEquals(Reason.UNHEALTHY, term.ended())
            until("it stays out") { candidate.state == State.IDLE }
        }
    }

    @Test
    fun `a dispatcher that refuses for a while is asked again`() = looping {
        connect("memory:").use { store ->
            val thread = Executors.newSingleThreadExecutor()
            val refuses = AtomicBoolean(true)
            val refusing = Executor { if (refuses.get()) throw RejectedExecutionException("full") else thread.execute(it) }
            try {
                val isHealthy = CountDownLatch(1)
                val settings = quick().apply {
                    dispatcher = refusing.asCoroutineDispatcher()
                    watch = false
                    healthInterval = 50.milliseconds
                    health = HealthCheck { true.also { isHealthy.countDown() } }
                }
                val candidate = store.campaign("jobs", settings)
                until("it was refused") { candidate.state == State.IDLE }
                refuses.set(false)
                candidate.nextTerm()!!.use { assertEquals(0, isHealthy.count) }
            } finally {
                thread.shutdown()
            }
        }
    }

    @Test
    fun `a dispatcher that runs is no reason to leave`() = looping {
        connect("memory:").use { store ->
            val settings = quick().apply { watchLimit = 60.seconds }
            val candidate = async(Dispatchers.Default) { store.campaign("jobs", settings) }.await()
            candidate.nextTerm()!!.use { assertTrue(it.term.isCurrent) }
        }
    }

    @Test
    fun `log records reach the program's sink`() = looping {
        val records = LinkedBlockingQueue<LogRecord>()
        logTo(System.Logger.Level.DEBUG) { records.add(it) }
        try {
            connect("memory:").use { store ->
                store.campaign("logged", quick()).use { it.nextTerm()!!.close() }
            }
            var record: LogRecord?
            do {
                record = records.poll(60, TimeUnit.SECONDS)
                assertNotNull(record, "no record of the election")
            } while (record?.fields?.get("election") != "logged")
        } finally {
            logTo(System.Logger.Level.OFF)
        }
    }
}

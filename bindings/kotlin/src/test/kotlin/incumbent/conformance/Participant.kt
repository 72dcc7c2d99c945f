/** A candidate of a scenario, and its log of events. */
package incumbent.conformance

import com.fasterxml.jackson.databind.JsonNode
import incumbent.CampaignSettings
import incumbent.Candidate
import incumbent.Event
import incumbent.Hold
import incumbent.IncumbentException
import incumbent.Preset
import incumbent.Reason
import incumbent.Term
import incumbent.Token
import incumbent.WinDelay
import java.util.ArrayDeque
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.CopyOnWriteArrayList
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.Job
import kotlinx.coroutines.async
import kotlinx.coroutines.launch

/** An event that a candidate reported of its terms. */
class Reported(
    val type: String,
    val at: Long,
    val token: Token,
    val reason: Reason? = null,
    val drained: Boolean = false,
) {
    override fun toString() = "${at / 1_000_000} $type ${reason ?: ""} $token"
}

/** A violation of one of the rules that hold in every scenario. */
class Broken(message: String) : AssertionError(message)

/** The settings of a scenario's candidate. */
fun settingsOf(id: String, part: JsonNode, leaseMs: Long) = CampaignSettings().apply {
    name = part["name"]?.asText() ?: id
    preset = Preset.FAST
    lease = leaseMs.milliseconds
    splay = 0.seconds
    // The dispatcher is not watched: other tests may block the virtual machine for a lease.
    watchLimit = 60.seconds
    for ((name, value) in part["options"]?.properties().orEmpty()) {
        when (name) {
            "preset" -> preset = Preset.valueOf(value.asText().uppercase())
            "lease_ms" -> lease = value.asLong().milliseconds
            "drain_ms" -> drain = value.asLong().milliseconds
            "interval_ms" -> interval = value.asLong().milliseconds
            "skew_ms" -> skew = value.asLong().milliseconds
            "slack_ms" -> slack = value.asLong().milliseconds
            "splay_ms" -> splay = value.asLong().milliseconds
            "drift_ppm" -> driftPpm = value.asInt()
            "metadata" -> metadata = value.properties().associate { (key, text) -> key to text.asText() }
            "win_delay" -> winDelay = when (val kind = value["kind"].asText()) {
                "automatic" -> WinDelay.Automatic
                "cautious" -> WinDelay.Cautious
                "fixed" -> WinDelay.Fixed(value["ms"].asLong().milliseconds)
                else -> error("no win delay is $kind")
            }
            else -> error("the runner knows no option $name")
        }
    }
}

class Participant(
    val id: String,
    val part: JsonNode,
    val election: String,
    private val scope: CoroutineScope,
    private val wins: (Term) -> Unit,
) {
    val connection: String = part["connection"]?.asText() ?: id
    val log = CopyOnWriteArrayList<Reported>()
    val warnings: MutableSet<String> = ConcurrentHashMap.newKeySet()
    val calls = ArrayDeque<Deferred<String?>>()

    /** The number of log entries that steps have read. */
    var read = 0

    @Volatile
    var candidate: Candidate? = null
        private set

    /** The first violation that it saw. */
    @Volatile
    var broken: Throwable? = null
        private set

    /** A candidate that was killed counts as the leader until then. */
    @Volatile
    private var leadsUntil = Long.MIN_VALUE
    private var works = part["works"]?.asBoolean() ?: false
    private var hold: Hold? = null
    private var reading: Job? = null

    val leads: Boolean get() = candidate?.isLeader ?: (System.nanoTime() < leadsUntil)

    /** A copy: a view of this list throws if an event arrives between two reads. */
    val unread: List<Reported> get() = log.toList().drop(read)

    fun begin(candidate: Candidate) {
        this.candidate = candidate
        reading = scope.launch {
            try {
                read(candidate)
            } catch (error: AssertionError) {
                broken = broken ?: error
            } catch (error: IncumbentException) {
                broken = broken ?: error
            }
        }
    }

    /** Begins a call that returns later; its answer is the code of its error. */
    fun call(what: suspend () -> Unit) {
        calls.add(
            scope.async {
                try {
                    what()
                    null
                } catch (error: IncumbentException) {
                    error.code.name
                }
            },
        )
    }

    @Synchronized
    fun finish() {
        hold?.close()
        hold = null
    }

    /** Finishes its work, and begins no work in terms that it wins from now on. */
    @Synchronized
    fun retire() {
        works = false
        finish()
    }

    /** Marks it as killed: nothing asks it or reads its events any longer. */
    fun kill() {
        reading?.cancel()
        val proven = candidate?.term?.remaining?.inWholeNanoseconds ?: 0
        leadsUntil = System.nanoTime() + proven
        candidate = null
        calls.clear()
        log.clear()
        read = 0
        finish()
    }

    private suspend fun read(candidate: Candidate) {
        var term: Term? = null
        var drained = false
        candidate.events().collect { event ->
            val at = System.nanoTime()
            when (event) {
                is Event.Warning -> warnings.add(event.code)
                is Event.Won -> {
                    must(term == null, "won twice")
                    term = event.term
                    drained = false
                    wins(event.term)
                    synchronized(this) {
                        if (works) {
                            hold = event.term.hold()
                        }
                    }
                    log.add(Reported("won", at, event.term.token))
                }
                is Event.Draining -> {
                    must(event.term == term && !drained, "draining of no term, or twice")
                    drained = true
                    log.add(Reported("draining", at, event.term.token, event.reason))
                }
                is Event.Lost -> {
                    must(event.term == term, "lost what it did not have")
                    must(!event.term.isCurrent, "lost a term that is current")
                    term = null
                    finish()
                    log.add(Reported("lost", at, event.term.token, event.reason, drained))
                }
                is Event.LeaderChanged, is Event.StateChanged -> Unit
            }
        }
    }

    private fun must(isSo: Boolean, otherwise: String) {
        if (!isSo) throw Broken("$id: $otherwise")
    }
}

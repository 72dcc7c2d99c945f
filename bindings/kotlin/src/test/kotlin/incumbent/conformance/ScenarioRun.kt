/** Runs a scenario through this library, and checks the rules of every scenario. */
package incumbent.conformance

import com.fasterxml.jackson.databind.JsonNode
import incumbent.IncumbentException
import incumbent.Leader
import incumbent.Observation
import incumbent.Store
import incumbent.Term
import incumbent.Token
import incumbent.close
import incumbent.connect
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.ConcurrentSkipListMap
import java.util.concurrent.CopyOnWriteArrayList
import java.util.concurrent.TimeUnit
import kotlin.concurrent.thread
import kotlin.time.Duration.Companion.milliseconds
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.cancel
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch

/** The time limit of an expectation; no scenario depends on it. */
private val LIMIT = TimeUnit.SECONDS.toNanos(60)

/** Answers that are further apart may be from two terms. */
private val CLOSE = TimeUnit.MILLISECONDS.toNanos(50)

/** The precision with which the beginning of a term is read. */
private val PRECISE = TimeUnit.MICROSECONDS.toNanos(200)

/** Runs a scenario; throws an error with the step, the expectation and the observation. */
suspend fun play(scenario: JsonNode, prepared: Prepared, harness: Harness) {
    val own = connect(prepared.url)
    val scope = CoroutineScope(SupervisorJob() + Dispatchers.IO)
    val run = ScenarioRun(scenario, prepared, harness, own, scope)
    val leaderCheck = thread(isDaemon = true) {
        try {
            while (true) {
                run.look()
                // Eight scenarios at once share the processors with the programs that they test.
                Thread.sleep(4)
            }
        } catch (gone: InterruptedException) {
            // The scenario is over.
        }
    }
    var place = 0
    try {
        for (step in scenario["steps"]) {
            place += 1
            run.step(step)
            run.check()
        }
        place += 1
        run.end()
        own.close()
    } catch (error: Throwable) {
        val step = scenario["steps"][place - 1] ?: "the end"
        throw AssertionError("step $place, $step: ${error.message}\n${run.story()}", error)
    } finally {
        leaderCheck.interrupt()
        // The scenario does not test their errors.
        runCatching { run.close() }
        runCatching { own.close() }
        scope.cancel()
    }
}

class ScenarioRun(
    private val scenario: JsonNode,
    private val prepared: Prepared,
    private val harness: Harness,
    private val own: Store,
    private val scope: CoroutineScope,
) {
    private val lease = TimeUnit.MILLISECONDS.toNanos(scenario["lease_ms"].asLong())
    private val wins = ConcurrentHashMap<String, ConcurrentSkipListMap<Long, Token>>()
    private val participants = ConcurrentHashMap<String, Participant>()
    /** In the order in which they were opened. */
    private val stores = linkedMapOf<String, Store>()

    /** The pending closes of killed connections' stores. */
    private val killed = mutableListOf<Deferred<Result<Unit>>>()
    private val marks = mutableMapOf<String, Long>()
    private val seen = mutableMapOf<String, CopyOnWriteArrayList<Observation>>()

    @Volatile
    private var broken: String? = null

    init {
        for ((id, part) in scenario["candidates"].properties()) {
            val election = part["election"]?.asText() ?: "jobs"
            participants[id] = Participant(id, part, election, scope) { won(election, it) }
        }
    }

    suspend fun step(step: JsonNode) {
        val election = step["election"]?.asText() ?: "jobs"
        when (val verb = step["do"].asText()) {
            "campaign" -> campaign(participant(step), step)
            "resign" -> candidate(step).let { participant(step).call { it.resign() } }
            "hand_over" -> candidate(step).let { participant(step).call { it.handOver(step["to"].asText()) } }
            "close" -> candidate(step).let { participant(step).call { it.close() } }
            "close_store" -> stores.getValue(participant(step).connection).let { participant(step).call { it.close() } }
            "set_healthy" -> candidate(step).setHealthy(step["healthy"].asBoolean())
            "finish_work" -> participant(step).finish()
            "fail_work" -> candidate(step).term!!.fail()
            "observe" -> observe(step["observer"].asText(), election)
            "kill" -> {
                harness.ask("kill", "connection" to participant(step).connection)
                participant(step).kill()
                // A store left open would keep dialling a port that another scenario may get, and campaign there.
                stores.remove(participant(step).connection)?.let { store ->
                    killed.add(scope.async { runCatching { store.close() } })
                }
            }
            "cut", "heal" -> harness.ask(verb, "connection" to participant(step).connection)
            "put_key" -> harness.ask(verb, "key" to election, "value" to step["value"].asText())
            "delete_key" -> harness.ask(verb, "key" to election)
            "reset_store", "stop_server", "start_server" -> harness.ask(verb)
            "mark" -> marks[step["mark"].asText()] = System.nanoTime()
            else -> expect(verb, step, election)
        }
    }

    private suspend fun expect(verb: String, step: JsonNode, election: String) {
        when (verb) {
            "expect_won" -> inTime(step, next(participant(step), "won"))
            "expect_any_won" -> {
                val any = step["candidates"].map { participants.getValue(it.asText()) }
                until("one of them reports") { any.any { it.unread.isNotEmpty() } }
                val first = any.filter { it.unread.isNotEmpty() }.minByOrNull { it.unread.first().at }!!
                participants[step["as"].asText()] = first
                inTime(step, next(first, "won"))
            }
            "expect_draining" -> same("the reason", next(participant(step), "draining").reason?.name, step["reason"])
            "expect_lost" -> {
                val participant = participant(step)
                until("something is reported") { participant.unread.isNotEmpty() }
                if (participant.unread.first().type == "draining") {
                    participant.read += 1
                }
                val lost = next(participant, "lost")
                same("the reason", lost.reason?.name, step["reason"], step["or"])
                step["drained"]?.let { same("whether it drained", "${lost.drained}", it) }
                inTime(step, lost)
            }
            "expect_returned" -> {
                val call = checkNotNull(participant(step).calls.poll()) { "there is no call to return" }
                same("what it returned with", answer(call), step["error"])
            }
            "expect_is_leader" -> same("whether it leads", "${participant(step).leads}", step["leads"])
            "expect_still_leads" -> {
                val one = participant(step)
                val token = candidate(step).term?.token
                during(step, "it leads on") {
                    token != null && one.leads && one.candidate?.term?.token == token && one.unread.isEmpty()
                }
            }
            "expect_nobody_leads" -> {
                val all = participants.values.filter { it.election == election }
                during(step, "no candidate leads") { all.none { it.candidate?.isLeader == true } }
            }
            "expect_state" -> until("the state is ${step["state"]}") {
                candidate(step).state.name == step["state"].asText()
            }
            "expect_seen" -> until("it sees the leader") { candidate(step).leader?.name == text(step["leader"]) }
            "expect_warning" -> until("there is ${step["warning"]}") { step["warning"].asText() in participant(step).warnings }
            "expect_leader" -> until("${step["leader"]} is read") {
                try {
                    fits(own.leader(election), step)
                } catch (gone: IncumbentException) {
                    false
                }
            }
            "expect_observed" -> {
                val observations = seen.getValue(step["observer"].asText())
                until("${step["leader"]} is observed") {
                    val place = observations.indexOfFirst { fits(it.leader, step) }
                    // If none matches, all stay, because another may have arrived since.
                    repeat(place + 1) { observations.removeAt(0) }
                    place >= 0
                }
            }
            else -> error("there is no such step")
        }
    }

    private suspend fun campaign(participant: Participant, step: JsonNode) {
        val store = stores.getOrPut(participant.connection) { connect(prepared.connections.getValue(participant.connection)) }
        val settings = settingsOf(participant.id, participant.part, scenario["lease_ms"].asLong())
        val error = try {
            participant.begin(store.campaign(participant.election, settings))
            null
        } catch (error: IncumbentException) {
            error
        }
        same("the error", error?.code?.name, step["error"])
        val named = step["names"]?.asText() ?: return
        val camel = named.replace(Regex("_([a-z])")) { it.groupValues[1].uppercase() }
        val message = error?.message.orEmpty()
        check(named in message || camel in message) { "the error does not name $named: $message" }
    }

    private fun observe(observer: String, election: String) {
        val observations = CopyOnWriteArrayList<Observation>()
        seen[observer] = observations
        scope.launch {
            try {
                own.observe(election).collect { observations.add(it) }
            } catch (gone: IncumbentException) {
                // An observer that fails sees nothing, and then the step fails too.
            }
        }
    }

    private suspend fun next(participant: Participant, type: String): Reported {
        until("${participant.id} reports $type") { participant.unread.isNotEmpty() }
        val reported = participant.unread.first()
        check(reported.type == type) { "${participant.id} reports $reported, and should report $type" }
        participant.read += 1
        return reported
    }

    private fun inTime(step: JsonNode, reported: Reported) {
        fun instant(moment: JsonNode) =
            marks.getValue(moment["mark"].asText()) + (moment["leases"].asDouble() * lease).toLong()
        step["not_before"]?.let { check(reported.at >= instant(it)) { "it came ${instant(it) - reported.at} ns too soon" } }
        step["before"]?.let { check(reported.at < instant(it)) { "it came ${reported.at - instant(it)} ns too late" } }
    }

    private suspend fun until(what: String, isSo: suspend () -> Boolean) {
        val limit = System.nanoTime() + LIMIT
        while (!isSo()) {
            check()
            check(System.nanoTime() < limit) { "waited for: $what" }
            delay(2.milliseconds)
        }
    }

    /** Checks that a condition holds for as long as the scenario says. */
    private suspend fun during(step: JsonNode, what: String, isSo: () -> Boolean) {
        val end = System.nanoTime() + (step["leases"].asDouble() * lease).toLong()
        do {
            check(isSo()) { "it is not so that $what" }
            delay(2.milliseconds)
        } while (System.nanoTime() < end)
    }

    private suspend fun answer(call: Deferred<String?>): String? {
        until("the call returns") { call.isCompleted }
        return call.await()
    }

    /** Checks that no two lead. */
    fun look() {
        val begin = System.nanoTime()
        val all = participants.values.distinct()
        if (all.size < 2) return
        for (one in all.filter { it.leads }) {
            val other = all.find { it !== one && it.election == one.election && it.leads }
            if (other != null && one.leads && System.nanoTime() - begin < CLOSE) {
                broken = broken ?: "${one.id} and ${other.id} both lead"
            }
        }
    }

    /** Checks the tokens in the order in which terms began: their events are read on several threads. */
    private fun won(election: String, term: Term) {
        var before: Long
        var began: Long
        do {
            before = System.nanoTime()
            began = before - term.age.inWholeNanoseconds
        } while (System.nanoTime() - before > PRECISE)
        val terms = wins.computeIfAbsent(election) { ConcurrentSkipListMap() }
        terms[began] = term.token
        val earlier = terms.lowerEntry(began)?.value
        val later = terms.higherEntry(began)?.value
        if (earlier != null && earlier >= term.token || later != null && later <= term.token) {
            broken = broken ?: "the token ${term.token} came after $earlier and before $later"
        }
    }

    fun check() {
        broken?.let { throw Broken(it) }
        participants.values.firstNotNullOfOrNull { it.broken }?.let { throw it }
    }

    /** Checks that calls return, that no event is unread, and that the stores close without a broken rule. */
    suspend fun end() {
        val all = participants.values.distinct()
        for (participant in all) {
            while (participant.calls.isNotEmpty()) {
                same("what a call of ${participant.id} returned with", answer(participant.calls.poll()), null)
            }
            // Events are read on other threads, so this waits until the event for the candidate's current term has arrived.
            until("the events of ${participant.id} are read") {
                val token = participant.candidate?.term?.token
                token == null || participant.log.any { it.token == token }
            }
            check(participant.unread.isEmpty()) { "what ${participant.id} reported besides: ${participant.unread}" }
        }
        check()
        close()
        check()
    }

    /** Closes the stores in the order in which they were opened, and those of killed connections. */
    suspend fun close() {
        // Stores close one after another. A candidate that wins in between has no work, or closing would wait for it.
        participants.values.forEach { it.retire() }
        stores.values.forEach { it.close() }
        killed.awaitAll()
    }

    fun story(): String = participants.values.distinct().flatMap { one -> one.log.map { it.at to "${one.id} $it" } }
        .sortedBy { it.first }.joinToString("\n") { it.second }

    private fun participant(step: JsonNode): Participant = participants.getValue(step["candidate"].asText())

    private fun candidate(step: JsonNode) =
        checkNotNull(participant(step).candidate) { "${step["candidate"]} does not campaign" }
}

private fun text(node: JsonNode?): String? = node?.takeUnless { it.isNull }?.asText()

private fun fits(leader: Leader?, step: JsonNode): Boolean {
    val wanted = step["metadata"]?.properties().orEmpty()
    return leader?.name == text(step["leader"]) && wanted.all { (key, value) -> leader?.metadata?.get(key) == value.asText() }
}

private fun same(what: String, seen: String?, vararg wanted: JsonNode?) {
    val all = if (wanted.size > 1) wanted.filterNotNull().map { text(it) } else wanted.map { text(it) }
    check(seen in all) { "$what is $seen, and should be ${all.joinToString(" or ")}" }
}

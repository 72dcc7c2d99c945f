/** Plays a scenario through this library, and checks the rules of every scenario. */
package incumbent.conformance

import com.fasterxml.jackson.databind.JsonNode
import incumbent.IncumbentException
import incumbent.Leader
import incumbent.Observation
import incumbent.Store
import incumbent.Term
import incumbent.Token
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

/** The precision with which the begin of a term is read. */
private val PRECISE = TimeUnit.MICROSECONDS.toNanos(200)

/** Plays a scenario; throws an error with the step, the expectation and the observation. */
suspend fun play(scenario: JsonNode, scene: Scene, stage: Stage) {
    val own = connect(scene.url)
    val scope = CoroutineScope(SupervisorJob() + Dispatchers.IO)
    val run = ScenarioRun(scenario, scene, stage, own, scope)
    val leaderCheck = thread(isDaemon = true) {
        try {
            while (true) {
                run.look()
                // Each answer leaves memory for JNA's one cleaning thread: at 1 ms, eight scenarios at once make more than it
                // frees, and collections then stop the virtual machine for seconds.
                Thread.sleep(4)
            }
        } catch (_: InterruptedException) {
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
        // Their errors are not what the scenario tests.
        runCatching { run.close() }
        runCatching { own.close() }
        scope.cancel()
    }
}

class ScenarioRun(
    private val scenario: JsonNode,
    private val scene: Scene,
    private val stage: Stage,
    private val own: Store,
    private val scope: CoroutineScope,
) {
    private val lease = TimeUnit.MILLISECONDS.toNanos(scenario["lease_ms"].asLong())
    private val wins = ConcurrentHashMap<String, ConcurrentSkipListMap<Long, Token>>()
    private val actors = ConcurrentHashMap<String, Actor>()
    private val stores = mutableMapOf<String, Store>()

    /** The closing of the stores of killed connections. */
    private val killed = mutableListOf<Deferred<Result<Unit>>>()
    private val marks = mutableMapOf<String, Long>()
    private val seen = mutableMapOf<String, CopyOnWriteArrayList<Observation>>()

    @Volatile
    private var broken: String? = null

    init {
        for ((id, part) in scenario["candidates"].properties()) {
            val election = part["election"]?.asText() ?: "jobs"
            actors[id] = Actor(id, part, election, scope) { won(election, it) }
        }
    }

    suspend fun step(step: JsonNode) {
        val election = step["election"]?.asText() ?: "jobs"
        when (val verb = step["do"].asText()) {
            "campaign" -> campaign(actor(step), step)
            "resign" -> candidate(step).let { actor(step).call { it.resign() } }
            "hand_over" -> candidate(step).let { actor(step).call { it.handOver(step["to"].asText()) } }
            "close" -> candidate(step).let { actor(step).call { it.close() } }
            "close_store" -> stores.getValue(actor(step).connection).let { actor(step).call { it.close() } }
            "set_healthy" -> candidate(step).setHealthy(step["healthy"].asBoolean())
            "finish_work" -> actor(step).finish()
            "fail_work" -> candidate(step).term!!.fail()
            "observe" -> observe(step["observer"].asText(), election)
            "kill" -> {
                stage.ask("kill", "connection" to actor(step).connection)
                actor(step).kill()
                // One that is left would go on dialling a port that another scenario may get, and campaign there.
                stores.remove(actor(step).connection)?.let { store ->
                    killed.add(scope.async { runCatching { store.close() } })
                }
            }
            "cut", "heal" -> stage.ask(verb, "connection" to actor(step).connection)
            "put_key" -> stage.ask(verb, "key" to election, "value" to step["value"].asText())
            "delete_key" -> stage.ask(verb, "key" to election)
            "reset_store", "stop_server", "start_server" -> stage.ask(verb)
            "mark" -> marks[step["mark"].asText()] = System.nanoTime()
            else -> expect(verb, step, election)
        }
    }

    private suspend fun expect(verb: String, step: JsonNode, election: String) {
        when (verb) {
            "expect_won" -> inTime(step, next(actor(step), "won"))
            "expect_any_won" -> {
                val any = step["candidates"].map { actors.getValue(it.asText()) }
                until("one of them reports") { any.any { it.unread.isNotEmpty() } }
                val first = any.filter { it.unread.isNotEmpty() }.minByOrNull { it.unread.first().at }!!
                actors[step["as"].asText()] = first
                inTime(step, next(first, "won"))
            }
            "expect_draining" -> same("the reason", next(actor(step), "draining").reason?.name, step["reason"])
            "expect_lost" -> {
                val actor = actor(step)
                until("something is reported") { actor.unread.isNotEmpty() }
                if (actor.unread.first().type == "draining") {
                    actor.read += 1
                }
                val lost = next(actor, "lost")
                same("the reason", lost.reason?.name, step["reason"], step["or"])
                step["drained"]?.let { same("whether it drained", "${lost.drained}", it) }
                inTime(step, lost)
            }
            "expect_returned" -> {
                val call = checkNotNull(actor(step).calls.poll()) { "there is no call to return" }
                same("what it returned with", answer(call), step["error"])
            }
            "expect_is_leader" -> same("whether it leads", "${actor(step).leads}", step["leads"])
            "expect_still_leads" -> {
                val actor = actor(step)
                val token = candidate(step).term?.token
                during(step, "it leads on") {
                    token != null && actor.leads && actor.candidate?.term?.token == token && actor.unread.isEmpty()
                }
            }
            "expect_nobody_leads" -> {
                val all = actors.values.filter { it.election == election }
                during(step, "no candidate leads") { all.none { it.candidate?.isLeader == true } }
            }
            "expect_state" -> until("the state is ${step["state"]}") {
                candidate(step).state.name == step["state"].asText()
            }
            "expect_seen" -> until("it sees the leader") { candidate(step).leader?.name == text(step["leader"]) }
            "expect_warning" -> until("there is ${step["warning"]}") { step["warning"].asText() in actor(step).warnings }
            "expect_leader" -> until("${step["leader"]} is read") {
                try {
                    fits(own.leader(election), step)
                } catch (_: IncumbentException) {
                    false
                }
            }
            "expect_observed" -> {
                val observations = seen.getValue(step["observer"].asText())
                until("${step["leader"]} is observed") {
                    val place = observations.indexOfFirst { fits(it.leader, step) }
                    repeat(if (place < 0) observations.size else place + 1) { observations.removeAt(0) }
                    place >= 0
                }
            }
            else -> error("there is no such step")
        }
    }

    private suspend fun campaign(actor: Actor, step: JsonNode) {
        val store = stores.getOrPut(actor.connection) { connect(scene.connections.getValue(actor.connection)) }
        val settings = settingsOf(actor.id, actor.part, scenario["lease_ms"].asLong())
        val error = try {
            actor.begin(store.campaign(actor.election, settings))
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
            } catch (_: IncumbentException) {
                // An observer that fails sees nothing, and the step then misses it.
            }
        }
    }

    private suspend fun next(actor: Actor, type: String): Reported {
        until("${actor.id} reports $type") { actor.unread.isNotEmpty() }
        val reported = actor.unread.first()
        check(reported.type == type) { "${actor.id} reports $reported, and should report $type" }
        actor.read += 1
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

    /** Checks that something stays so, for as long as the scenario says. */
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
        val all = actors.values.distinct()
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
        actors.values.firstNotNullOfOrNull { it.broken }?.let { throw it }
    }

    /** Checks that calls return, that no event is unread, and that the stores close without a broken rule. */
    suspend fun end() {
        val all = actors.values.distinct()
        for (actor in all) {
            while (actor.calls.isNotEmpty()) {
                same("what a call of ${actor.id} returned with", answer(actor.calls.poll()), null)
            }
            // Events are read on other threads: a term that its candidate is in must have arrived.
            until("the events of ${actor.id} are read") {
                val token = actor.candidate?.term?.token
                token == null || actor.log.any { it.token == token }
            }
            check(actor.unread.isEmpty()) { "what ${actor.id} reported besides: ${actor.unread}" }
        }
        check()
        close()
        check()
    }

    suspend fun close() {
        stores.values.forEach { it.close() }
        killed.awaitAll()
    }

    fun story(): String = actors.values.distinct().flatMap { actor -> actor.log.map { it.at to "${actor.id} $it" } }
        .sortedBy { it.first }.joinToString("\n") { it.second }

    private fun actor(step: JsonNode): Actor = actors.getValue(step["candidate"].asText())

    private fun candidate(step: JsonNode) =
        checkNotNull(actor(step).candidate) { "${step["candidate"]} does not campaign" }
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

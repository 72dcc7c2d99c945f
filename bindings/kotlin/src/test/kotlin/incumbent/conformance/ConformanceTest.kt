/** The scenarios of all languages, run through this library. */
package incumbent.conformance

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import incumbent.BROKER
import java.io.File
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Assumptions.assumeTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.assertThrows
import org.junit.jupiter.api.parallel.Execution
import org.junit.jupiter.api.parallel.ExecutionMode
import org.junit.jupiter.params.ParameterizedTest
import org.junit.jupiter.params.provider.Arguments
import org.junit.jupiter.params.provider.MethodSource

private val SCENARIOS: List<JsonNode> = File("../../lab/conformance/scenarios").listFiles { file -> file.extension == "json" }!!
    .sorted().map { JSON.readTree(it) }

/** The stores to run on; by default all, and Kafka if `INCUMBENT_KAFKA` has the address of a broker. */
private val STORES: List<String> = System.getenv("INCUMBENT_STORES")?.split(',')
    ?: (listOf("memory", "sqlite", "nats", "etcd") + listOfNotNull(BROKER?.let { "kafka" }))

/**
 * The shortest lease of a candidate, if a store has one: three times the shortest that an etcd server grants by
 * default.
 */
private val LEAST_LEASE_MS = mapOf("etcd" to 6_000L)

private fun on(store: String, file: JsonNode) {
    val lease = maxOf(file["lease_ms"].asLong(), LEAST_LEASE_MS[store] ?: 0)
    val scenario = file.deepCopy<ObjectNode>().put("lease_ms", lease)
    Harness().use { harness ->
        val connections = scenario["candidates"].properties().map { (id, part) -> part["connection"]?.asText() ?: id }
        val prepared = harness.prepare(store, lease, connections.distinct())
        val lacking = scenario["needs"]?.map { it.asText() }.orEmpty() - prepared.offers.toSet()
        assumeTrue(lacking.isEmpty(), "$store has no ${lacking.joinToString()}")
        runBlocking(Dispatchers.IO) { play(scenario, prepared, harness) }
        harness.ask("clean_up")
    }
}

class ConformanceTest {
    @ParameterizedTest(name = "{0}: {1}")
    @MethodSource("scenarios")
    @Execution(ExecutionMode.CONCURRENT)
    fun `a scenario is played`(store: String, name: String) {
        on(store, SCENARIOS.single { it["name"].asText() == name })
    }

    private fun wrong(vararg steps: String): JsonNode = JSON.readTree(
        """{"name": "wrong", "lease_ms": 10000, "candidates": {"a": {}},
            "steps": [{"do": "campaign", "candidate": "a"}, ${steps.joinToString()}]}""",
    )

    @Test
    fun `a scenario that is wrong fails`() {
        val won = """{"do": "expect_won", "candidate": "a"}"""
        val cases = mapOf(
            wrong(won, """{"do": "expect_is_leader", "candidate": "a", "leads": false}""") to "whether it leads is true",
            wrong(won, """{"do": "expect_returned", "candidate": "a"}""") to "there is no call",
            wrong("""{"do": "expect_state", "candidate": "a", "state": "LEADING"}""") to "what a reported besides",
        )
        for ((scenario, message) in cases) {
            val error = assertThrows<AssertionError> { on("memory", scenario) }
            assertTrue(message in error.message!!, error.message)
        }
    }

    companion object {
        @JvmStatic
        fun scenarios(): List<Arguments> =
            STORES.flatMap { store ->
                val played = SCENARIOS.filter { it["not_on"]?.has(store) != true }
                played.map { Arguments.of(store, it["name"].asText()) }
            }
    }
}

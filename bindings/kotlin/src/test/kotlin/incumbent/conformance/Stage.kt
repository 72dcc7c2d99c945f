/** The program that controls the store and the network. */
package incumbent.conformance

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.ObjectMapper
import incumbent.STAGE

val JSON = ObjectMapper()

/** The place where a scenario is played. */
class Scene(reply: JsonNode) {
    val url: String = reply["url"].asText()
    val offers: List<String> = reply["offers"].map { it.asText() }
    val connections: Map<String, String> = reply["connections"].properties().associate { (id, url) -> id to url.asText() }
}

class Stage : AutoCloseable {
    private val process = ProcessBuilder(STAGE).redirectError(ProcessBuilder.Redirect.INHERIT).start()
    private val replies = process.inputStream.bufferedReader()
    private val requests = process.outputStream.bufferedWriter()

    init {
        val hello = read()
        check(hello["stage"].asText() == "incumbent" && hello["protocol"].asInt() == 1) { "another protocol: $hello" }
    }

    fun set(store: String, leaseMs: Long, connections: List<String>): Scene =
        Scene(ask("set", "store" to store, "lease_ms" to leaseMs, "connections" to connections))

    @Synchronized
    fun ask(what: String, vararg fields: Pair<String, Any?>): JsonNode {
        requests.write(JSON.writeValueAsString(mapOf("do" to what, *fields)))
        requests.newLine()
        requests.flush()
        val reply = read()
        check(reply["ok"].asBoolean()) { "the stage does not $what: ${reply["error"]}" }
        return reply
    }

    private fun read(): JsonNode = JSON.readTree(checkNotNull(replies.readLine()) { "the stage has ended" })

    /** Ends the program by closing its input. */
    override fun close() {
        requests.close()
        process.waitFor()
    }
}

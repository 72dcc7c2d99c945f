/** The program that controls the store and the network. */
package incumbent.conformance

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.ObjectMapper
import incumbent.HARNESS

val JSON = ObjectMapper()

/** The store and connections on which a scenario runs. */
class Prepared(reply: JsonNode) {
    val url: String = reply["url"].asText()
    val offers: List<String> = reply["offers"].map { it.asText() }
    val connections: Map<String, String> = reply["connections"].properties().associate { (id, url) -> id to url.asText() }
}

class Harness : AutoCloseable {
    private val process = ProcessBuilder(HARNESS).redirectError(ProcessBuilder.Redirect.INHERIT).start()
    private val replies = process.inputStream.bufferedReader()
    private val requests = process.outputStream.bufferedWriter()

    init {
        val hello = read()
        check(hello["harness"].asText() == "incumbent" && hello["protocol"].asInt() == 1) { "another protocol: $hello" }
    }

    fun prepare(store: String, leaseMs: Long, connections: List<String>): Prepared =
        Prepared(ask("prepare", "store" to store, "lease_ms" to leaseMs, "connections" to connections))

    @Synchronized
    fun ask(what: String, vararg fields: Pair<String, Any?>): JsonNode {
        requests.write(JSON.writeValueAsString(mapOf("do" to what, *fields)))
        requests.newLine()
        requests.flush()
        val reply = read()
        check(reply["ok"].asBoolean()) { "the harness does not $what: ${reply["error"]}" }
        return reply
    }

    private fun read(): JsonNode = JSON.readTree(checkNotNull(replies.readLine()) { "the harness has ended" })

    /** Ends the program by closing its input. */
    override fun close() {
        requests.close()
        process.waitFor()
    }
}

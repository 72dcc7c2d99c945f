package readme

import incumbent.*
import kotlinx.coroutines.*

fun main(args: Array<String>) = runBlocking {
    connect(args.firstOrNull() ?: "nats://localhost:4222/ELECTIONS").use { store ->
        store.campaign("billing-cron") { name = "worker-7" }.lead { term ->
            println("leading with token ${term.token}")
            term.draining() // until it is time to finish
        }
    }
}

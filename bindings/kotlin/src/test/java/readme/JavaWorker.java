package readme;

import static incumbent.Async.*;

import java.util.concurrent.Executors;

class JavaWorker {
    public static void main(String[] args) {
        var executor = Executors.newCachedThreadPool();
        var store = connect(args.length > 0 ? args[0] : "nats://localhost:4222/ELECTIONS").join();
        var candidate = campaign(store, "billing-cron").join();
        lead(candidate, executor, term -> {
            while (term.isCurrent() && !term.isDraining()) {
                System.out.println("leading with token " + term.getToken());
                draining(term).completeOnTimeout(null, 1, java.util.concurrent.TimeUnit.SECONDS).join();
            }
        }).join();
        executor.shutdown();
    }
}

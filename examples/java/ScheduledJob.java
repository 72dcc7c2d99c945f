// Runs a job every second, on a scheduled executor, in one of any number of processes.
//
//     java -cp … examples.ScheduledJob sqlite:elections.db
//
// Start it twice and stop the leader with SIGTERM or Ctrl-C: the other takes over at once. Kill the leader instead, and
// the other takes over when the lease is over.

package examples;

import static incumbent.Async.*;

import incumbent.Term;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

public final class ScheduledJob {
    private static void invoices(Term term) {
        // The resource refuses a token smaller than one it has seen.
        System.out.println("the invoices go out with token " + term.getToken());
    }

    public static void main(String[] args) {
        var workers = Executors.newCachedThreadPool();
        var timer = Executors.newSingleThreadScheduledExecutor();
        var store = connect(args.length > 0 ? args[0] : "memory:").join();
        var candidate = campaign(store, "scheduled-jobs").join();
        // The work of a term lasts until it drains; the job runs on the timer meanwhile.
        var leading = lead(candidate, workers, term -> {
            var job = timer.scheduleWithFixedDelay(() -> invoices(term), 0, 1, TimeUnit.SECONDS);
            try {
                draining(term).join();
            } finally {
                job.cancel(false);
            }
        });
        leading.join();
        workers.shutdown();
        timer.shutdown();
    }

    private ScheduledJob() {}
}

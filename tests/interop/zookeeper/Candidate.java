import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * A candidate on Curator's LeaderLatch, which prints what happens to it as one JSON object a line, like those of
 * tests/interop/peers:
 *
 * <pre>{"t":812345678901234,"wall":1767225600000000000,"name":"java-1","event":"elected"}</pre>
 *
 * It reads orders from its standard input, a line each: "resign", "campaign" and "close", which gives the
 * latch up and ends the program. The end of its input does the same.
 *
 * With -probe it also asks the latch at that interval whether it has the leadership, and prints "led" with the time of the
 * last question to which the answer was yes.
 */
final class Candidate implements LeaderLatchListener {
    private final CuratorFramework client;
    private final String path;
    private final String name;
    /** The time between two questions in milliseconds, 0 for none. */
    private final long probe;
    /** The machine's suspend-aware clock less System.nanoTime. */
    private final long offset;

    /** Null after a resignation. */
    private volatile LeaderLatch latch;
    /** The thread that asks, of the newest term. */
    private volatile Thread asking;

    private Candidate(Map<String, String> options) {
        CuratorFrameworkFactory.Builder builder = CuratorFrameworkFactory.builder()
                .connectString(options.get("-servers"))
                // As in the first example of Curator's documentation.
                .retryPolicy(new ExponentialBackoffRetry(1000, 3));
        if (options.containsKey("-session")) {
            builder.sessionTimeoutMs(Integer.parseInt(options.get("-session")));
        }
        client = builder.build();
        path = options.get("-path");
        name = options.get("-name");
        probe = Long.parseLong(options.getOrDefault("-probe", "0"));
        offset = Long.parseLong(options.get("-clock"));
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, String> options = new HashMap<>();
        for (int at = 0; at + 1 < arguments.length; at += 2) {
            options.put(arguments[at], arguments[at + 1]);
        }
        new Candidate(options).run();
    }

    private void run() throws Exception {
        client.start();
        campaign();
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        while (true) {
            String order = orders.readLine();
            if (order == null || order.equals("close")) {
                print("closing");
                if (latch != null) {
                    latch.close();
                }
                client.close();
                print("closed");
                System.exit(0);
            } else if (order.equals("resign") && latch != null) {
                print("resigning");
                // Returns when its request is sent, not when it is answered.
                latch.close();
                latch = null;
                print("resigned");
            } else if (order.equals("campaign") && latch == null) {
                campaign();
            } else {
                System.err.println("not an order, or not possible now: " + order);
                System.exit(1);
            }
        }
    }

    /** Enters the election, and returns once the candidate's node exists. */
    private void campaign() throws Exception {
        LeaderLatch entered = new LeaderLatch(client, path, name);
        entered.addListener(this);
        latch = entered;
        print("campaigning");
        entered.start();
        while (entered.getOurPath() == null) {
            Thread.sleep(1);
        }
        print("waiting");
    }

    @Override
    public void isLeader() {
        print("elected");
        LeaderLatch held = latch;
        if (probe > 0) {
            asking = new Thread(() -> ask(held), "probe");
            asking.start();
        }
    }

    @Override
    public void notLeader() {
        print("lost");
        try {
            // The probe prints its last line before the program ends.
            if (asking != null) {
                asking.join();
            }
        } catch (InterruptedException ended) {
            // The client is closing, and ends this thread.
        }
        System.exit(0);
    }

    /**
     * Asks until the answer is no. The clock is read before the question: the answer holds at that time or
     * later, however long the program is stopped in between.
     */
    private void ask(LeaderLatch held) {
        long last = now();
        while (true) {
            long at = now();
            if (!held.hasLeadership()) {
                break;
            }
            last = at;
            try {
                Thread.sleep(probe);
            } catch (InterruptedException ended) {
                break;
            }
        }
        print(last, "led");
    }

    private long now() {
        return System.nanoTime() + offset;
    }

    private void print(String event) {
        print(now(), event);
    }

    private void print(long at, String event) {
        Instant now = Instant.now();
        long wall = now.getEpochSecond() * 1_000_000_000L + now.getNano();
        String line = "{\"t\":" + at + ",\"wall\":" + wall + ",\"name\":\"" + name + "\",\"event\":\"" + event + "\"}\n";
        synchronized (System.out) {
            System.out.print(line);
            System.out.flush();
        }
    }
}

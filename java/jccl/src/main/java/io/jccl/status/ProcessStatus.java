package io.jccl.status;

import io.jccl.JcclException;
import io.jccl.config.LaunchSettings;
import io.jccl.config.Settings;
import io.jccl.config.StatusSettings;
import io.jccl.device.HostIdentity;
import io.jccl.internal.Causes;
import io.jccl.internal.ServiceThread;
import io.jccl.internal.Threads;
import io.jccl.membership.JobMembers;
import io.jccl.membership.StatusPort;
import io.jccl.rendezvous.AwaitedRanks;
import io.jccl.rendezvous.BootstrapOptions;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The state of this process as others can see it: its communicators and the jobs that it waits to join. A status server
 * runs while there is a communicator or such a job. Errors here never fail a communicator.
 */
public final class ProcessStatus implements StatusServer.Service {

    private static final Logger LOG = LoggerFactory.getLogger(ProcessStatus.class);
    private static final ProcessStatus SHARED = new ProcessStatus();

    /** Contains the communicators whose status nobody may see (JCCL_STATUS=0). */
    private static final ProcessStatus HIDDEN = new ProcessStatus();

    private static final long AWAITED_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    private final List<CommunicatorStatus> communicators = new CopyOnWriteArrayList<>();
    private final List<JoinStatus> joins = new CopyOnWriteArrayList<>();
    private volatile StatusServer server; // null if no server runs; written under the lock of this
    private Path socket; // the server's socket, or null; guarded by this
    private BootstrapOptions options; // guarded by this
    private volatile boolean encrypts; // true if a communicator of this process encrypts its connections
    private volatile String hostId = "";
    private volatile int port;

    /** The part of the state that a peer may see. */
    private record Visible(List<CommunicatorStatus> communicators, List<JoinStatus> joins) {}

    private ProcessStatus() {}

    /**
     * Begins the status of a communicator whose initialisation begins.
     *
     * @param settings the settings of the communicator; those of the first one determine where the server listens
     */
    public static CommunicatorStatus begin(
            JobIdentity job, int rank, int size, Settings settings, BootstrapOptions options) {
        if (!settings.get(StatusSettings.STATUS)) {
            return HIDDEN.begin(job, rank, size);
        }
        CommunicatorStatus status = SHARED.begin(job, rank, size);
        SHARED.serve(settings, options);
        return status;
    }

    /**
     * Begins the status of this process while it waits to join a job. Only the user of the process can see this status,
     * and only on this host, because the job's ranks do not know the process yet.
     *
     * @param members the addresses at which the process looks for the job's ranks
     */
    public static JoinStatus join(JobMembers members, Settings settings, BootstrapOptions options) {
        if (!settings.get(StatusSettings.STATUS)) {
            return new JoinStatus(HIDDEN, members.toString());
        }
        JoinStatus join = new JoinStatus(SHARED, members.toString());
        SHARED.joins.add(join);
        SHARED.serve(settings, options);
        return join;
    }

    CommunicatorStatus begin(JobIdentity job, int rank, int size) {
        CommunicatorStatus status = new CommunicatorStatus(this, job, rank, size);
        if (this != HIDDEN) {
            communicators.add(status);
        }
        return status;
    }

    /**
     * Starts the server unless it runs. Call this after adding a status, so that a status that ends at the same time
     * does not stop the server.
     */
    private synchronized void serve(Settings settings, BootstrapOptions bootstrap) {
        encrypts |= bootstrap.encrypted();
        if (server != null) {
            return;
        }
        options = bootstrap;
        hostId = settings.get(LaunchSettings.HOST_ID).orElseGet(HostIdentity::host);
        StatusServer starting;
        try {
            starting = new StatusServer(this);
        } catch (JcclException e) {
            LOG.warn("jccl ps cannot look into this process: {}", e.getMessage());
            return;
        }
        try {
            starting.listen(StatusPort.open(bootstrap, settings.get(StatusSettings.STATUS_PORT)));
        } catch (IOException | JcclException e) {
            LOG.warn("jccl ps cannot look into this process from other hosts: {}", Causes.describe(e));
        }
        try {
            ServerSocketChannel unix =
                    StatusDirectory.of(settings).bind(ProcessHandle.current().pid());
            socket = ((UnixDomainSocketAddress) unix.getLocalAddress()).getPath();
            starting.listen(unix);
        } catch (IOException | RuntimeException e) {
            LOG.warn("jccl ps cannot look into this process by its process id: {}", Causes.describe(e));
        }
        try {
            starting.start();
        } catch (JcclException e) {
            LOG.warn("jccl ps cannot look into this process: {}", e.getMessage());
            starting.close();
            removeSocket();
            return;
        }
        server = starting;
        port = starting.port();
        LOG.debug("jccl ps can look into this process: socket={} port={}", socket, port);
    }

    void end(CommunicatorStatus status) {
        if (communicators.remove(status)) {
            closeIfUnused();
        }
    }

    void end(JoinStatus status) {
        if (joins.remove(status)) {
            closeIfUnused();
        }
    }

    private synchronized void closeIfUnused() {
        if (!communicators.isEmpty() || !joins.isEmpty() || server == null) {
            return;
        }
        server.close();
        server = null;
        port = 0;
        encrypts = false;
        removeSocket();
    }

    private void removeSocket() {
        try {
            if (socket != null) {
                Files.deleteIfExists(socket);
            }
        } catch (IOException e) {
            LOG.debug("socket={} cannot be removed: {}", socket, e.toString());
        }
        socket = null;
    }

    /** Returns the addresses of the server as text for other ranks; empty if there is none. */
    synchronized String addresses(InetAddress preferred) {
        return port == 0 ? "" : StatusPort.addresses(options, preferred, port);
    }

    @Override
    public List<byte[]> keys() {
        List<byte[]> keys = new ArrayList<>();
        communicators.forEach(communicator -> keys.addAll(communicator.keys()));
        return keys;
    }

    @Override
    public boolean encrypts() {
        return encrypts;
    }

    @Override
    public void answer(Request request, Optional<byte[]> key, Consumer<byte[]> answer) {
        Visible visible = visible(key);
        if (request.dumpFolder().isEmpty()) {
            answer(request, visible, List.of(), answer);
            return;
        }
        StatusServer asked = server;
        if (asked == null) {
            return; // the server is being closed, with all its connections
        }
        List<String> dumps = new ArrayList<>();
        Thread dumping = ServiceThread.once(
                "jccl-status-dump", // a thread of its own, because a file system may be slow
                () -> dump(visible.communicators(), request, dumps),
                thrown -> asked.reactor().execute(() -> {
                    if (thrown != null) {
                        dumps.add("an error ended the dump: " + Causes.describe(thrown));
                    }
                    answer(request, visible, dumps, answer);
                }));
        Threads.tryStart(dumping).ifPresent(refused -> answer(request, visible, List.of(refused.getMessage()), answer));
    }

    private static void dump(List<CommunicatorStatus> dumped, Request request, List<String> dumps) {
        for (CommunicatorStatus communicator : dumped) {
            if (request.communicator().isEmpty() || request.communicator().equals(communicator.id())) {
                dumps.add(communicator.dump(Path.of(request.dumpFolder())));
            }
        }
    }

    private void answer(Request request, Visible visible, List<String> dumps, Consumer<byte[]> answer) {
        ProcessSnapshot own = snapshot(request, visible, dumps);
        if (request.kind() == Request.Kind.PROCESS) {
            answer.accept(new Answer(List.of(own), List.of()).encode());
            return;
        }
        // read without the lock: a thread that closes the server holds the lock and waits for this thread
        StatusServer asked = server;
        if (asked != null) {
            new Collector(asked.reactor(), request, own, visible.communicators(), all -> answer.accept(all.encode()))
                    .start();
        }
    }

    /** Returns what a peer may see. A peer that proves the key of a communicator may look into the whole job. */
    private Visible visible(Optional<byte[]> key) {
        if (key.isEmpty()) {
            return new Visible(communicators, joins);
        }
        Set<String> jobs = communicators.stream()
                .filter(communicator -> communicator.keys().stream().anyMatch(one -> Arrays.equals(one, key.get())))
                .map(CommunicatorStatus::jobName)
                .collect(Collectors.toSet());
        return new Visible(
                communicators.stream()
                        .filter(communicator -> jobs.contains(communicator.jobName()))
                        .toList(),
                List.of());
    }

    private ProcessSnapshot snapshot(Request request, Visible visible, List<String> dumps) {
        List<RankSnapshot> ranks = new ArrayList<>();
        for (CommunicatorStatus communicator : visible.communicators()) {
            try {
                ranks.add(communicator.snapshot(request));
            } catch (RuntimeException e) {
                LOG.warn("rank={}: its status cannot be read", communicator.rank(), e);
            }
        }
        return new ProcessSnapshot(
                HostIdentity.process(),
                ProcessHandle.current().pid(),
                hostId,
                HostIdentity.hostName(),
                port,
                AwaitedRanks.now(AWAITED_NANOS),
                ranks,
                visible.joins().stream().map(JoinStatus::snapshot).toList(),
                dumps);
    }
}

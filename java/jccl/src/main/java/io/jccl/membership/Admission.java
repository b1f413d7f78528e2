package io.jccl.membership;

import io.jccl.BootstrapException;
import io.jccl.rendezvous.RankRegistration;
import io.jccl.rendezvous.RendezvousServer;
import io.jccl.wire.FrameLink;
import io.jccl.wire.FrameType;
import io.jccl.wire.Limits;
import io.jccl.wire.Server;
import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Admits processes that join a communicator while its remaining ranks reform it.
 *
 * <p>A process proves the job's key at the reserved port of any rank. A rank that does not lead answers with the
 * address of the leader. The leader lets as many processes wait as the new communicator has ranks for them. When all
 * ranks and all these processes have come, the processes get the last ranks, sorted by the places that they prefer and
 * then by their arrival. If a process leaves earlier, another can take its place. Used only by the server's thread.
 */
final class Admission implements Server.Service, RankRegistration.Joiners {

    private static final Logger LOG = LoggerFactory.getLogger(Admission.class);

    private record Waiting(FrameLink link, int preference) {}

    private final RemainingRanks remaining;
    private final List<Waiting> waiting = new ArrayList<>();
    private final Set<FrameLink> admitted = new HashSet<>();
    private RankRegistration registration;
    private RendezvousServer rendezvous;
    private Server server;
    private byte[] secret;
    private Server atMemberPort; // null if there is no member port, or while another communicator uses the port
    private boolean warned;
    private String closed; // the reason why no more processes can join; null while they can

    Admission(RemainingRanks remaining) {
        this.remaining = remaining;
    }

    /** Makes the server at which ranks register accept processes that join, too. Called before that server starts. */
    void open(Server ofRanksToo, RankRegistration ofServer, byte[] ofRendezvous, RendezvousServer ofRanks) {
        server = ofRanksToo;
        registration = ofServer;
        secret = ofRendezvous;
        rendezvous = ofRanks;
        server.alsoServe(remaining.joinKey(), this);
    }

    @Override
    public int awaited() {
        return remaining.joiners();
    }

    @Override
    public int present() {
        return waiting.size() + admitted.size();
    }

    @Override
    public void onFrame(FrameLink link, FrameType type, WireReader body) {
        if (admitted.contains(link)) {
            rendezvous.onFrame(link, type, body);
            return;
        }
        if (type != FrameType.HELLO) {
            throw new WireException("frame=" + type + ": not expected of a process that joins");
        }
        RankRegistration.Hello hello = RankRegistration.Hello.read(body);
        String otherVersion = registration.refusal("the process that joins", hello.version());
        if (otherVersion != null) {
            RankRegistration.refuse(link, otherVersion);
        } else if (!remaining.leads()) {
            answer(link, FrameType.LEADER, new WireWriter().blob(remaining.leaderAddresses()));
        } else if (closed != null || present() >= awaited()) {
            later(link, closed != null ? closed : "all of " + awaited() + " places are taken");
        } else {
            waiting.add(new Waiting(link, hello.rank()));
            LOG.info(
                    "a process joins from {}: {} of {} have come, generation={}",
                    link.remote(),
                    present(),
                    awaited(),
                    remaining.generation());
            rendezvous.welcomeIfAllCame();
        }
    }

    private void later(FrameLink link, String why) {
        answer(link, FrameType.LATER, new WireWriter().text(why, Limits.MAX_TEXT));
    }

    private static void answer(FrameLink link, FrameType type, WireWriter content) {
        link.send(type, content);
        link.closeWhenSent();
    }

    /** Registers the waiting processes if all ranks and all processes have come. */
    void admitIfAllCame() {
        int ranks = remaining.left().size();
        if (waiting.isEmpty()
                || waiting.size() < awaited()
                || !registration.missingRanks(remaining.newSize()).isEmpty()) {
            return;
        }
        waiting.sort(Comparator.comparingInt(Waiting::preference)); // stable: equal preferences keep arrival order
        for (Waiting one : waiting) {
            int rank = ranks + admitted.size();
            one.link().send(FrameType.ADMITTED, admitted(rank));
            admitted.add(one.link());
            registration.join(one.link(), remaining.hello(rank));
        }
        waiting.clear();
    }

    private WireWriter admitted(int rank) {
        WireWriter out = new WireWriter()
                .i32(remaining.generation())
                .i32(rank)
                .i32(remaining.newSize())
                .blob(secret);
        EarlierGroup.write(out, remaining.earlierGroups(List.of()));
        return out;
    }

    @Override
    public void onClosed(FrameLink link, String why) {
        if (admitted.contains(link)) {
            rendezvous.onClosed(link, why);
        } else {
            waiting.removeIf(one -> one.link() == link);
        }
    }

    /**
     * Tries to listen on the member port if the launcher has set one. Tries again and again, because another
     * communicator of this process may use the port for a while.
     */
    void tick() {
        int port = remaining.memberPort();
        if (port == 0 || closed != null || atMemberPort != null) {
            return;
        }
        try {
            ServerSocketChannel acceptor = Server.listening(new InetSocketAddress(remaining.bindAddress(), port));
            atMemberPort = new Server(remaining.joinKey(), server.reactor(), acceptor, remaining.clock(), this);
        } catch (BootstrapException e) {
            if (!warned) {
                LOG.warn(
                        "JCCL_MEMBER_PORT: processes that join cannot find rank={} at port={}, only at its reserved"
                                + " port or through other ranks: {}",
                        remaining.rank(),
                        port,
                        e.getMessage());
            }
            warned = true;
        }
    }

    @Override
    public long onTick(long now) {
        return ReformRendezvous.TICK_NANOS;
    }

    /** Refuses the processes that wait and those that come later. A second call does nothing. */
    void close(String why) {
        if (closed == null) {
            closed = why;
            waiting.forEach(one -> later(one.link(), why));
            waiting.clear();
            if (atMemberPort != null) {
                atMemberPort.close();
            }
        }
    }
}

package io.jccl.init;

import io.jccl.BootstrapException;
import io.jccl.CommunicationTimeoutException;
import io.jccl.InterruptedCommunicationException;
import io.jccl.PeerFailedException;
import io.jccl.config.Settings;
import io.jccl.internal.Causes;
import io.jccl.membership.Bootstrap;
import io.jccl.wire.RankList;
import java.util.List;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Initialises a communicator of a parent's remaining ranks and of processes that join. Exceptions name ranks by their
 * numbers in the parent.
 */
final class Reform {

    private static final Logger LOG = LoggerFactory.getLogger(Reform.class);

    private final InitializedCommunicator parent;
    private final SortedSet<Integer> excluded;
    private final int joiners;
    private final List<Integer> left;

    /**
     * Prepares to reform a communicator.
     *
     * @param excluded the ranks that leave; this rank is not one of them
     * @param joiners the number of processes that join
     */
    Reform(InitializedCommunicator parent, SortedSet<Integer> excluded, int joiners) {
        this.parent = parent;
        this.excluded = excluded;
        this.joiners = joiners;
        this.left = IntStream.range(0, parent.size())
                .filter(rank -> !excluded.contains(rank))
                .boxed()
                .toList();
    }

    InitializedCommunicator initialize(boolean needsMajority) {
        try {
            Settings settings = InitSettings.load(parent.config());
            Timeline timeline = new Timeline(joiners == 0 ? "shrink" : "reform", System::nanoTime);
            Bootstrap membership = parent.membership()
                    .reform(
                            excluded,
                            joiners,
                            parent.rendezvousAddresses(),
                            needsMajority,
                            InitSettings.bootstrap(settings));
            InitializedCommunicator child =
                    CommunicatorInitializer.after(parent, parent.config(), membership, settings, timeline);
            LOG.info(
                    "communicator={} rank={} continues as communicator={} rank={} size={} generation={} without {}, with {} processes that joined",
                    parent.id(),
                    parent.rank(),
                    child.id(),
                    child.rank(),
                    child.size(),
                    membership.generation(),
                    RankList.text(excluded),
                    joiners);
            return child;
        } catch (CommunicationTimeoutException e) {
            throw new CommunicationTimeoutException(described(e), oldRanks(e.missingRanks()), e);
        } catch (PeerFailedException e) {
            throw new PeerFailedException(described(e), oldRanks(e.failedRanks()), e);
        } catch (InterruptedCommunicationException e) {
            throw new InterruptedCommunicationException(described(e), e);
        } catch (BootstrapException e) {
            throw new BootstrapException(described(e), e);
        }
    }

    private SortedSet<Integer> oldRanks(Set<Integer> newRanks) {
        return newRanks.stream()
                .filter(rank -> rank < left.size())
                .map(left::get)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private String described(Exception problem) {
        return "communicator=" + parent.id() + " rank=" + parent.rank() + " could not go on as one of "
                + RankList.text(left) + " without " + RankList.text(excluded)
                + (joiners == 0 ? "" : " and with " + joiners + " processes that join, as the last ranks")
                + "; call this again on all ranks that are left, and exclude the same ranks on each, with those that"
                + " failed meanwhile. The following text numbers these ranks from 0: " + Causes.describe(problem);
    }
}

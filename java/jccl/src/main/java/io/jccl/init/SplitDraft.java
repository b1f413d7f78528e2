package io.jccl.init;

import io.jccl.CommunicatorConfig;
import io.jccl.JcclException;
import io.jccl.internal.Causes;
import io.jccl.membership.GroupIdentity;
import io.jccl.membership.Subgroup;
import io.jccl.nativelib.NativeEngine;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The parts of a communicator that a rank makes before it knows the communicator's ranks, so that the one exchange of
 * the split can carry what others must know of them: the rank's port, and in the expectation that the communicator is a
 * copy of its parent, the engine. If a part cannot be made, nothing is thrown here, because other ranks wait for this
 * rank in the exchange.
 */
final class SplitDraft implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(SplitDraft.class);
    private static final byte[] NOTHING = {};

    private final Introduction introduction;
    private NativeEngine engine; // null if none was made, or the communicator has it
    private JcclException problem; // why there is no port, or null

    SplitDraft(Subgroup group, Inheritance inherited, CommunicatorConfig config) {
        byte[] connectInfo = group.identityOfCopy()
                .map(identity -> copy(identity, inherited, config))
                .orElse(NOTHING);
        introduction = new Introduction(config.name(), reserveAddress(group), connectInfo);
    }

    private byte[] copy(GroupIdentity identity, Inheritance inherited, CommunicatorConfig config) {
        try {
            engine = NativeEngine.create(EngineSettings.of(
                    EngineSettings.texts(
                            inherited.settings(),
                            InitializedCommunicator.id(config, identity, 0),
                            inherited.plugin().plugin(),
                            inherited.surveys().paths().topology()),
                    inherited.settings(),
                    identity,
                    inherited.planned().host().channels(),
                    inherited.streams(),
                    inherited.peers()));
            return EngineConnector.connectInfo(engine, inherited.connections());
        } catch (JcclException e) {
            LOG.debug("the engine is made again when the ranks are known: {}", Causes.describe(e));
            return NOTHING;
        }
    }

    private String reserveAddress(Subgroup group) {
        try {
            return group.reserveAddress();
        } catch (JcclException e) {
            problem = e;
            return "";
        }
    }

    /** Returns what the rank tells the others. */
    byte[] introduction() {
        return introduction.encode();
    }

    /** Throws if the rank has no port. */
    void requireAddress() {
        if (problem != null) {
            throw problem;
        }
    }

    /** Returns the engine, which now belongs to the caller. */
    NativeEngine takeEngine() {
        NativeEngine taken = engine;
        engine = null;
        return taken;
    }

    @Override
    public void close() {
        if (engine != null) {
            engine.destroy();
        }
    }
}

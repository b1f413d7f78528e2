package io.jccl.pytorch;

import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorBase;
import org.bytedeco.pytorch.VoidTensorHook;
import org.jspecify.annotations.Nullable;

/**
 * A parameter whose gradient is averaged: its hook and its place in a bucket. Calls of one
 * {@link DistributedDataParallel} are serialized by its lock.
 *
 * <p>Autograd calls a hook before it adds the gradient, and has no call for afterwards. So the parameter notes the state
 * of its gradient in the hook, and a later call finds the gradient changed.
 */
final class ReducedParameter {

    /** How far the gradient of a step has come. */
    enum Stage {
        /** The backward pass has not reached the parameter. */
        WAITING,
        /** The hook was called; autograd adds the gradient next. */
        ARRIVED,
        /** The gradient is in the bucket. */
        IN_BUCKET
    }

    private final ModuleState.Entry entry;
    private final GradientBucket bucket;
    private final Tensor view; // of the bucket; becomes the gradient
    private @Nullable VoidTensorHook hook; // libtorch refers to it weakly
    private int hookId;
    private Stage stage = Stage.WAITING;
    private boolean used; // by a backward pass since the last step, perhaps one within noSync()
    private long arrivedAt; // address of the gradient when the hook was called; 0 if it was undefined
    private long arrivedVersion;
    private @Nullable Tensor kept; // a copy of a gradient that this rank has not changed, in case no rank has

    ReducedParameter(ModuleState.Entry entry, GradientBucket bucket, Tensor view) {
        this.entry = entry;
        this.bucket = bucket;
        this.view = view;
    }

    String name() {
        return entry.name();
    }

    GradientBucket bucket() {
        return bucket;
    }

    Stage stage() {
        return stage;
    }

    boolean isUsed() {
        return used;
    }

    void markUsed() {
        used = true;
    }

    /** Makes autograd call {@code arrived} for each gradient of the parameter. */
    void listen(Runnable arrived) {
        hook = Tensors.keep(new VoidTensorHook() {
            @Override
            public void call(TensorBase gradient) {
                arrived.run();
            }
        });
        hookId = entry.tensor().register_hook(hook);
    }

    /** Notes that autograd adds a gradient next. */
    void arrive() {
        if (entry.tensor().scalar_type().intern() != view.scalar_type().intern()) {
            throw new IllegalStateException(name() + ".scalar_type="
                    + entry.tensor().scalar_type().intern()
                    + ": expected " + view.scalar_type().intern() + ", as when the DistributedDataParallel was built;"
                    + " convert the module before");
        }
        Tensor gradient = entry.tensor().mutable_grad();
        arrivedAt = identity(gradient);
        arrivedVersion = arrivedAt == 0 ? 0 : gradient._version();
        stage = Stage.ARRIVED;
    }

    /** Returns true if autograd has added the gradient since {@link #arrive}. */
    boolean isAdded() {
        Tensor gradient = entry.tensor().mutable_grad();
        long now = identity(gradient);
        return now != arrivedAt || now != 0 && gradient._version() != arrivedVersion;
    }

    /** Copies the gradient to the bucket, unless it is there, and makes it a view of the bucket. */
    void moveToBucket() {
        Tensor gradient = entry.tensor().mutable_grad();
        copyToBucket(gradient);
        gradient.put(view);
        stage = Stage.IN_BUCKET;
        bucket.added();
    }

    /**
     * Puts the gradient of a parameter that the last backward pass has not reached into the bucket: zeros, or what
     * earlier passes have left.
     */
    void fill() {
        Tensor gradient = entry.tensor().mutable_grad();
        if (!used && isView(gradient)) {
            kept = Tensors.keep(gradient.clone());
        }
        copyToBucket(gradient);
        stage = Stage.IN_BUCKET;
        bucket.added();
    }

    /**
     * Ends a step for a parameter that {@link #fill} has handled. If a rank has used the parameter, the average becomes
     * its gradient. Otherwise the gradient stays as it was: optimizers with momentum pass over undefined gradients.
     */
    void settle(boolean usedByAnyRank) {
        Tensor gradient = entry.tensor().mutable_grad();
        if (usedByAnyRank) {
            gradient.put(view);
        } else if (kept != null) {
            view.copy_(kept);
        }
    }

    private void copyToBucket(Tensor gradient) {
        if (!gradient.defined()) {
            view.zero_();
        } else if (gradient.is_sparse()) {
            view.zero_();
            view.add_(gradient.detach());
        } else if (!isView(gradient)) {
            view.copy_(gradient.detach());
        }
    }

    /** Forgets the gradient. */
    void discard() {
        entry.tensor().mutable_grad().put(new Tensor());
    }

    void reset() {
        stage = Stage.WAITING;
        used = false;
        if (kept != null) {
            kept.releaseReference();
            kept = null;
        }
    }

    /** Removes the hook; a gradient in the bucket becomes a copy. Returns true if other tensors use its memory. */
    boolean close() {
        if (hook != null) {
            entry.tensor().remove_hook(hookId);
        }
        Tensor gradient = entry.tensor().mutable_grad();
        if (isView(gradient)) {
            gradient.put(gradient.clone());
        }
        return view.use_count() > 1 || view.storage().use_count() > 1;
    }

    private boolean isView(Tensor gradient) {
        return identity(gradient) == identity(view);
    }

    private static long identity(Tensor tensor) {
        return tensor.defined() ? tensor.unsafeGetTensorImpl().address() : 0;
    }
}

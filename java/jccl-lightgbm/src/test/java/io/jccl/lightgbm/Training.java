package io.jccl.lightgbm;

import com.microsoft.ml.lightgbm.SWIGTYPE_p_double;
import com.microsoft.ml.lightgbm.SWIGTYPE_p_float;
import com.microsoft.ml.lightgbm.SWIGTYPE_p_int;
import com.microsoft.ml.lightgbm.SWIGTYPE_p_long_long;
import com.microsoft.ml.lightgbm.SWIGTYPE_p_p_void;
import com.microsoft.ml.lightgbm.SWIGTYPE_p_void;
import com.microsoft.ml.lightgbm.lightgbmlib;
import com.microsoft.ml.lightgbm.lightgbmlibConstants;
import java.util.function.IntConsumer;

/** A data set and a booster over it, with the calls of {@code lightgbmlib} that applications make. */
final class Training implements AutoCloseable {

    private final IntConsumer check;
    private final SWIGTYPE_p_void dataset;
    private final SWIGTYPE_p_int finished = lightgbmlib.new_intp();
    private SWIGTYPE_p_void booster;

    /**
     * Loads a shard.
     *
     * @param check receives the code that each call of {@code lightgbmlib} returns
     */
    Training(Shard shard, String parameters, IntConsumer check) {
        this.check = check;
        int rows = shard.localRows();
        int columns = shard.columns();
        SWIGTYPE_p_double features = lightgbmlib.new_doubleArray((long) rows * columns);
        SWIGTYPE_p_float labels = lightgbmlib.new_floatArray(rows);
        shard.forEach((row, values, label) -> {
            for (int i = 0; i < columns; i++) {
                lightgbmlib.doubleArray_setitem(features, (long) row * columns + i, values[i]);
            }
            lightgbmlib.floatArray_setitem(labels, row, label);
        });
        SWIGTYPE_p_p_void handle = lightgbmlib.new_voidpp();
        check.accept(lightgbmlib.LGBM_DatasetCreateFromMat(
                lightgbmlib.double_to_voidp_ptr(features),
                lightgbmlibConstants.C_API_DTYPE_FLOAT64,
                rows,
                columns,
                1,
                parameters,
                null,
                handle));
        dataset = lightgbmlib.voidpp_value(handle);
        check.accept(lightgbmlib.LGBM_DatasetSetField(
                dataset,
                "label",
                lightgbmlib.float_to_voidp_ptr(labels),
                rows,
                lightgbmlibConstants.C_API_DTYPE_FLOAT32));
        lightgbmlib.delete_voidpp(handle);
        lightgbmlib.delete_doubleArray(features);
        lightgbmlib.delete_floatArray(labels);
    }

    /** Replaces the model by an empty one. {@code parameters} can differ from those of the data set. */
    Training restart(String parameters) {
        freeBooster();
        SWIGTYPE_p_p_void handle = lightgbmlib.new_voidpp();
        check.accept(lightgbmlib.LGBM_BoosterCreate(dataset, parameters, handle));
        booster = lightgbmlib.voidpp_value(handle);
        lightgbmlib.delete_voidpp(handle);
        return this;
    }

    /** Adds a tree. */
    void update() {
        check.accept(lightgbmlib.LGBM_BoosterUpdateOneIter(booster, finished));
    }

    /** Returns the trees as text, without the parameters. */
    String trees() {
        SWIGTYPE_p_long_long length = lightgbmlib.new_int64_tp();
        String model = lightgbmlib.LGBM_BoosterSaveModelToStringSWIG(booster, 0, -1, 0, 1 << 20, length);
        lightgbmlib.delete_int64_tp(length);
        return model.substring(0, model.indexOf("\nparameters:"));
    }

    private void freeBooster() {
        if (booster != null) {
            lightgbmlib.LGBM_BoosterFree(booster);
        }
    }

    @Override
    public void close() {
        freeBooster();
        lightgbmlib.LGBM_DatasetFree(dataset);
        lightgbmlib.delete_intp(finished);
    }
}

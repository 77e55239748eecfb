(* N and S as lower bounds of PN and PS, over the real numbers (CADET, Appendix A).

   One context do(A_-i = c). The response types of (Y_a, Y_a') have the probabilities q11, q10, q01, q00;
   p = P(Y_a = 1) and p' = P(Y_a' = 1). Quotients come with the hypothesis that the denominator is positive.
   BoundsQ.v has the same over the rationals, without any axiom. *)

Require Import Reals Lra Psatz List.
Import ListNotations.
Open Scope R_scope.

Definition distribution (q11 q10 q01 q00 : R) : Prop :=
  0 <= q11 /\ 0 <= q10 /\ 0 <= q01 /\ 0 <= q00 /\ q11 + q10 + q01 + q00 = 1.

Definition low (p p' : R) : R := Rmax 0 (p - p').
Definition up (p p' : R) : R := Rmin p (1 - p').
Definition N (p p' : R) : R := low p p' / p.
Definition S (p p' : R) : R := low p p' / (1 - p').

Ltac cases_of_max := unfold low, up, Rmax, Rmin in *; repeat destruct (Rle_dec _ _).

Lemma quotient_le : forall x y d, 0 < d -> x <= y -> x / d <= y / d.
Proof.
  intros x y d positive smaller. unfold Rdiv.
  apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat |]; assumption.
Qed.

Section OneContext.

Variables q11 q10 q01 q00 : R.
Hypothesis types : distribution q11 q10 q01 q00.

Let p := q11 + q10.
Let p' := q11 + q01.
Let PNS := q10.
Let PN := q10 / p.
Let PS := q10 / (1 - p').

Lemma PNS_interval : low p p' <= PNS <= up p p'.
Proof. unfold distribution, p, p', PNS in *. cases_of_max; lra. Qed.

Theorem A3_N_below_PN : 0 < p -> N p p' <= PN.
Proof. intro positive. apply quotient_le; [exact positive | apply PNS_interval]. Qed.

Theorem A4_S_below_PS : p' < 1 -> S p p' <= PS.
Proof. intro positive. apply quotient_le; [lra | apply PNS_interval]. Qed.

Theorem A5_monotone_equality : 0 < p -> p' < 1 -> q01 = 0 -> N p p' = PN /\ S p p' = PS.
Proof.
  intros positive positive' monotone.
  assert (low p p' = q10) as exact by (unfold distribution, p, p' in *; cases_of_max; lra).
  unfold N, S, PN, PS. rewrite exact. split; reflexivity.
Qed.

Theorem A5_converse : 0 < p -> p' <= p -> N p p' = PN -> q01 = 0.
Proof.
  intros positive ordered equality.
  assert (low p p' = q10) as exact.
  { apply (Rmult_eq_reg_r (/ p)); [exact equality | apply Rinv_neq_0_compat; lra]. }
  unfold p, p' in *. cases_of_max; lra.
Qed.

Theorem A6_counterfactual : 0 < p -> p' < 1 -> PN * p = PNS /\ PS * (1 - p') = PNS.
Proof. intros positive positive'. unfold PN, PS, PNS. split; field; lra. Qed.

Theorem A6_scores :
  0 < p -> p' < 1 -> N p p' * p = low p p' /\ S p p' * (1 - p') = low p p' /\ low p p' <= PNS.
Proof.
  intros positive positive'.
  repeat split; [unfold N; field; lra | unfold S; field; lra | apply PNS_interval].
Qed.

(* Remark A.8: with one prerequisite there is one context, so A.6 holds as it stands. *)
Theorem A8_chain :
  0 < p -> p' < 1 ->
  forall NS, NS = low p p' -> NS = N p p' * p /\ NS = S p p' * (1 - p') /\ NS <= PNS.
Proof. intros positive positive' NS ->. destruct A6_scores as (? & ? & ?); auto. Qed.

Theorem harm_identity : 0 < p -> PN = (p - p') / p + q01 / p.
Proof. intro positive. unfold PN, p, p' in *. field. lra. Qed.

(* With the regime A as a variable: P(A = a) = w, P(A = a') = v, and exogeneity makes the cells w * q and v * q. What
   follows are the definitions of PN and PS, as P(Y_a' = 0 | A = a, Y = 1) and P(Y_a = 1 | A = a', Y = 0). *)
Let PN_of (w : R) : R := (w * q10) / (w * q11 + w * q10).
Let PS_of (v : R) : R := (v * q10) / (v * q10 + v * q00).

Lemma PN_by_regime : forall w, 0 < w -> 0 < p -> PN_of w = PN.
Proof. intros w weight positive. unfold PN_of, PN, p in *. field. split; [lra | nra]. Qed.

Lemma PS_by_regime : forall v, 0 < v -> p' < 1 -> PS_of v = PS.
Proof.
  intros v weight positive.
  assert (1 - p' = q10 + q00) as failure by (unfold distribution, p' in *; lra).
  unfold PS_of, PS. rewrite failure in *. field. split; [lra | nra].
Qed.

Theorem A3_regime : forall w, 0 < w -> 0 < p -> N p p' <= PN_of w.
Proof. intros w weight positive. rewrite PN_by_regime by assumption. now apply A3_N_below_PN. Qed.

Theorem A4_regime : forall v, 0 < v -> p' < 1 -> S p p' <= PS_of v.
Proof. intros v weight positive. rewrite PS_by_regime by assumption. now apply A4_S_below_PS. Qed.

Theorem A5_regime :
  forall w v, 0 < w -> 0 < v -> 0 < p -> p' < 1 -> q01 = 0 -> N p p' = PN_of w /\ S p p' = PS_of v.
Proof. intros. rewrite PN_by_regime, PS_by_regime by assumption. now apply A5_monotone_equality. Qed.

Theorem A6_regime :
  forall w v, 0 < w -> 0 < v -> 0 < p -> p' < 1 -> PN_of w * p = PNS /\ PS_of v * (1 - p') = PNS.
Proof. intros. rewrite PN_by_regime, PS_by_regime by assumption. now apply A6_counterfactual. Qed.

End OneContext.

(* Both ends of the interval of PNS are attained, and so is everything between them. *)
Theorem sharp :
  forall p p' v, 0 <= p <= 1 -> 0 <= p' <= 1 -> low p p' <= v <= up p p' ->
  exists q11 q10 q01 q00,
    distribution q11 q10 q01 q00 /\ q11 + q10 = p /\ q11 + q01 = p' /\ q10 = v.
Proof.
  intros p p' v rate rate' between. exists (p - v), v, (p' - p + v), (1 - p' - v).
  unfold distribution. cases_of_max; lra.
Qed.

Theorem interval_not_empty : forall p p', 0 <= p <= 1 -> 0 <= p' <= 1 -> low p p' <= up p p'.
Proof. intros. cases_of_max; lra. Qed.

Corollary sharp_low :
  forall p p', 0 <= p <= 1 -> 0 <= p' <= 1 ->
  exists q11 q10 q01 q00,
    distribution q11 q10 q01 q00 /\ q11 + q10 = p /\ q11 + q01 = p' /\ q10 = low p p'.
Proof. intros. apply sharp; try assumption. split; [lra | now apply interval_not_empty]. Qed.

Corollary sharp_up :
  forall p p', 0 <= p <= 1 -> 0 <= p' <= 1 ->
  exists q11 q10 q01 q00,
    distribution q11 q10 q01 q00 /\ q11 + q10 = p /\ q11 + q01 = p' /\ q10 = up p p'.
Proof. intros. apply sharp; try assumption. split; [now apply interval_not_empty | lra]. Qed.

Theorem symmetry : forall p p', S p p' = N (1 - p') (1 - p).
Proof. intros. unfold S, N, low. f_equal. f_equal. lra. Qed.

(* Strata, instances: any number of them, each with a weight and its two rates. *)
Record stratum := Stratum { weight : R; rate : R; rate' : R }.

Definition proper (x : stratum) : Prop := 0 <= weight x /\ 0 <= rate x <= 1 /\ 0 <= rate' x <= 1.

Fixpoint sum (f : stratum -> R) (strata : list stratum) : R :=
  match strata with
  | [] => 0
  | x :: rest => weight x * f x + sum f rest
  end.

Lemma sum_le :
  forall f g strata, Forall proper strata -> (forall x, proper x -> f x <= g x) -> sum f strata <= sum g strata.
Proof.
  intros f g strata all smaller. induction all as [| x rest here]; simpl; [lra |].
  pose proof (smaller x here). destruct here as [positive _]. nra.
Qed.

Lemma sum_of_difference :
  forall f g strata, sum (fun x => f x - g x) strata = sum f strata - sum g strata.
Proof. intros. induction strata; simpl; lra. Qed.

Lemma sum_of_constant : forall c strata, sum (fun _ => c) strata = c * sum (fun _ => 1) strata.
Proof. intros. induction strata; simpl; lra. Qed.

Lemma zero_below_sum :
  forall f strata, Forall proper strata -> (forall x, proper x -> 0 <= f x) -> 0 <= sum f strata.
Proof.
  intros f strata all positive. apply Rle_trans with (sum (fun _ => 0) strata).
  - rewrite sum_of_constant. lra.
  - now apply sum_le.
Qed.

(* The lower end made stratum by stratum is at least the pooled one. *)
Theorem strata_above_pooled_low :
  forall strata, Forall proper strata ->
  low (sum rate strata) (sum rate' strata) <= sum (fun x => low (rate x) (rate' x)) strata.
Proof.
  intros strata all. unfold low at 1. apply Rmax_lub.
  - apply zero_below_sum; [exact all |]. intros. apply Rmax_l.
  - rewrite <- sum_of_difference. apply sum_le; [exact all |]. intros. apply Rmax_r.
Qed.

(* And the upper end at most. *)
Theorem strata_below_pooled_up :
  forall strata, Forall proper strata -> sum (fun _ => 1) strata = 1 ->
  sum (fun x => up (rate x) (rate' x)) strata <= up (sum rate strata) (sum rate' strata).
Proof.
  intros strata all weights. unfold up at 2. apply Rmin_glb.
  - apply sum_le; [exact all |]. intros. apply Rmin_l.
  - rewrite <- weights at 1. rewrite <- sum_of_difference. apply sum_le; [exact all |]. intros. apply Rmin_r.
Qed.

(* One instance with success rates p and p'; its runs are independent. *)
Section Reruns.

Variables p p' : R.
Hypothesis rate_p : 0 <= p <= 1.
Hypothesis rate_p' : 0 <= p' <= 1.

Theorem selector : forall s, 0 <= s <= 1 -> s * (p - p') <= low p p'.
Proof. intros s between. cases_of_max; nra. Qed.

Theorem PS_correction : (1 - p') * (p - p') <= low p p'.
Proof. apply selector. lra. Qed.

Theorem PN_correction : p * (p - p') <= low p p'.
Proof. now apply selector. Qed.

Theorem leave_one_out : ((p - p') + (p - p') * (p - p')) / 2 <= low p p'.
Proof.
  replace (((p - p') + (p - p') * (p - p')) / 2) with ((1 + (p - p')) / 2 * (p - p')) by field.
  apply selector. lra.
Qed.

Theorem paired_rate_inside : low p p' <= p * (1 - p') <= up p p'.
Proof. cases_of_max; split; nra. Qed.

Theorem paired_gap : p * (1 - p') - low p p' <= Rmin (p * (1 - p)) (p' * (1 - p')).
Proof. cases_of_max; nra. Qed.

Theorem width : up p p' - low p p' <= Rmin (2 * p * (1 - p)) (2 * p' * (1 - p')).
Proof. cases_of_max; nra. Qed.

End Reruns.

(* The corrections hold on average over instances as well. *)
Theorem PS_correction_on_average :
  forall strata, Forall proper strata ->
  sum (fun x => (1 - rate' x) * (rate x - rate' x)) strata <= sum (fun x => low (rate x) (rate' x)) strata.
Proof. intros. apply sum_le; [assumption |]. intros x (_ & ? & ?). now apply PS_correction. Qed.

Theorem PN_correction_on_average :
  forall strata, Forall proper strata ->
  sum (fun x => rate x * (rate x - rate' x)) strata <= sum (fun x => low (rate x) (rate' x)) strata.
Proof. intros. apply sum_le; [assumption |]. intros x (_ & ? & ?). now apply PN_correction. Qed.

(* The naive paired rate is no lower bound: nothing has an effect here, and it is 1/4. *)
Theorem plug_in_refuted : exists p p', 0 <= p <= 1 /\ 0 <= p' <= 1 /\ ~ p * (1 - p') <= low p p'.
Proof. exists (/ 2), (/ 2). cases_of_max; lra. Qed.

(* N and S as lower bounds of PN and PS, over the rational numbers: no axiom of any kind.

   Names as in Bounds.v. A quotient is a number with its defining product and a positive denominator. *)

Require Import QArith Qminmax Lqa List.
Import ListNotations.
Open Scope Q_scope.

Definition distribution (q11 q10 q01 q00 : Q) : Prop :=
  0 <= q11 /\ 0 <= q10 /\ 0 <= q01 /\ 0 <= q00 /\ q11 + q10 + q01 + q00 == 1.

Definition low (p p' : Q) : Q := Qmax 0 (p - p').
Definition up (p p' : Q) : Q := Qmin p (1 - p').

(* r is x / d. *)
Definition quotient (r x d : Q) : Prop := 0 < d /\ r * d == x.

Lemma low_cases : forall p p', (p <= p' /\ low p p' == 0) \/ (p' <= p /\ low p p' == p - p').
Proof.
  intros p p'. unfold low. destruct (Qlt_le_dec p' p).
  - right. split; [lra |]. apply Q.max_r. lra.
  - left. split; [assumption |]. apply Q.max_l. lra.
Qed.

Lemma up_cases : forall p p', (p <= 1 - p' /\ up p p' == p) \/ (1 - p' <= p /\ up p p' == 1 - p').
Proof.
  intros p p'. unfold up. destruct (Qlt_le_dec (1 - p') p).
  - right. split; [lra |]. apply Q.min_r. lra.
  - left. split; [assumption |]. now apply Q.min_l.
Qed.

Ltac cases_of_low p p' := destruct (low_cases p p') as [[? ?] | [? ?]].
Ltac cases_of_up p p' := destruct (up_cases p p') as [[? ?] | [? ?]].

Lemma quotient_le : forall r s x y d, quotient r x d -> quotient s y d -> x <= y -> r <= s.
Proof.
  intros r s x y d [positive first] [_ second] smaller.
  apply (Qmult_le_r r s d positive). lra.
Qed.

Section OneContext.

Variables q11 q10 q01 q00 : Q.
Hypothesis types : distribution q11 q10 q01 q00.

Let p := q11 + q10.
Let p' := q11 + q01.
Let PNS := q10.

Lemma PNS_interval : low p p' <= PNS /\ PNS <= up p p'.
Proof.
  unfold distribution in types. pose proof types.
  cases_of_low p p'; cases_of_up p p'; unfold p, p', PNS in *; lra.
Qed.

Theorem A3_N_below_PN : forall N PN, quotient N (low p p') p -> quotient PN PNS p -> N <= PN.
Proof. intros N PN first second. eapply quotient_le; [exact first | exact second | apply PNS_interval]. Qed.

Theorem A4_S_below_PS :
  forall S PS, quotient S (low p p') (1 - p') -> quotient PS PNS (1 - p') -> S <= PS.
Proof. intros S PS first second. eapply quotient_le; [exact first | exact second | apply PNS_interval]. Qed.

Theorem A5_monotone_equality :
  forall N PN S PS,
  quotient N (low p p') p -> quotient PN PNS p ->
  quotient S (low p p') (1 - p') -> quotient PS PNS (1 - p') ->
  q01 == 0 -> N == PN /\ S == PS.
Proof.
  intros N PN S PS n pn s ps monotone.
  assert (low p p' == PNS) as exact.
  { pose proof types. unfold distribution in *. cases_of_low p p'; unfold p, p', PNS in *; lra. }
  split; apply Qle_antisym;
    (eapply quotient_le; [eassumption | eassumption | rewrite exact; apply Qle_refl]).
Qed.

Theorem A5_converse :
  forall N PN, quotient N (low p p') p -> quotient PN PNS p -> p' <= p -> N == PN -> q01 == 0.
Proof.
  intros N PN [positive n] [_ pn] ordered equality.
  assert (low p p' == PNS) as exact by (rewrite <- n, <- pn, equality; reflexivity).
  cases_of_low p p'; unfold p, p', PNS in *; lra.
Qed.

Theorem A6_counterfactual :
  forall PN PS, quotient PN PNS p -> quotient PS PNS (1 - p') -> PN * p == PNS /\ PS * (1 - p') == PNS.
Proof. intros PN PS [_ pn] [_ ps]. split; assumption. Qed.

Theorem A6_scores :
  forall N S, quotient N (low p p') p -> quotient S (low p p') (1 - p') ->
  N * p == S * (1 - p') /\ N * p == low p p' /\ low p p' <= PNS.
Proof.
  intros N S [_ n] [_ s].
  split; [rewrite n, s; reflexivity | split; [exact n | apply PNS_interval]].
Qed.

(* Remark A.8: with one prerequisite there is one context, so A.6 holds as it stands. *)
Theorem A8_chain :
  forall N S NS, quotient N (low p p') p -> quotient S (low p p') (1 - p') -> NS == low p p' ->
  NS == N * p /\ NS == S * (1 - p') /\ NS <= PNS.
Proof.
  intros N S NS [_ n] [_ s] same.
  split; [rewrite n; exact same | split; [rewrite s; exact same | rewrite same; apply PNS_interval]].
Qed.

(* With the regime A as a variable: P(A = a) = w, P(A = a') = v, and exogeneity makes the cells w * q and v * q. What
   follows are the definitions of PN and PS, as P(Y_a' = 0 | A = a, Y = 1) and P(Y_a = 1 | A = a', Y = 0). *)
Lemma PN_by_regime :
  forall w PN, 0 < w -> quotient PN (w * q10) (w * q11 + w * q10) -> quotient PN PNS p.
Proof.
  intros w PN weight [positive pn]. unfold p, PNS. split; [nra |].
  apply (Qmult_inj_l _ _ w); [lra |]. rewrite <- pn. ring.
Qed.

Lemma PS_by_regime :
  forall v PS, 0 < v -> quotient PS (v * q10) (v * q10 + v * q00) -> quotient PS PNS (1 - p').
Proof.
  intros v PS weight [positive ps].
  assert (1 - p' == q10 + q00) as failure by (unfold distribution, p' in *; pose proof types; lra).
  unfold PNS. split; [rewrite failure; nra |].
  apply (Qmult_inj_l _ _ v); [lra |]. rewrite <- ps, failure. ring.
Qed.

Theorem A3_regime :
  forall w N PN, 0 < w -> quotient N (low p p') p -> quotient PN (w * q10) (w * q11 + w * q10) -> N <= PN.
Proof. intros w N PN weight n pn. apply (A3_N_below_PN N PN n). now apply (PN_by_regime w). Qed.

Theorem A4_regime :
  forall v S PS, 0 < v ->
  quotient S (low p p') (1 - p') -> quotient PS (v * q10) (v * q10 + v * q00) -> S <= PS.
Proof. intros v S PS weight s ps. apply (A4_S_below_PS S PS s). now apply (PS_by_regime v). Qed.

Theorem A5_regime :
  forall w v N PN S PS, 0 < w -> 0 < v ->
  quotient N (low p p') p -> quotient PN (w * q10) (w * q11 + w * q10) ->
  quotient S (low p p') (1 - p') -> quotient PS (v * q10) (v * q10 + v * q00) ->
  q01 == 0 -> N == PN /\ S == PS.
Proof.
  intros w v N PN S PS weight weight' n pn s ps.
  apply A5_monotone_equality; try assumption; [now apply (PN_by_regime w) | now apply (PS_by_regime v)].
Qed.

Theorem A6_regime :
  forall w v PN PS, 0 < w -> 0 < v ->
  quotient PN (w * q10) (w * q11 + w * q10) -> quotient PS (v * q10) (v * q10 + v * q00) ->
  PN * p == PNS /\ PS * (1 - p') == PNS.
Proof.
  intros w v PN PS weight weight' pn ps.
  apply A6_counterfactual; [now apply (PN_by_regime w) | now apply (PS_by_regime v)].
Qed.

End OneContext.

(* Both ends of the interval of PNS are attained, and so is everything between them. *)
Theorem sharp :
  forall p p' v, 0 <= p <= 1 -> 0 <= p' <= 1 -> low p p' <= v <= up p p' ->
  exists q11 q10 q01 q00,
    distribution q11 q10 q01 q00 /\ q11 + q10 == p /\ q11 + q01 == p' /\ q10 == v.
Proof.
  intros p p' v rate rate' between. exists (p - v), v, (p' - p + v), (1 - p' - v).
  unfold distribution. cases_of_low p p'; cases_of_up p p'; repeat split; lra.
Qed.

Theorem interval_not_empty : forall p p', 0 <= p <= 1 -> 0 <= p' <= 1 -> low p p' <= up p p'.
Proof. intros. cases_of_low p p'; cases_of_up p p'; lra. Qed.

Corollary sharp_low :
  forall p p', 0 <= p <= 1 -> 0 <= p' <= 1 ->
  exists q11 q10 q01 q00,
    distribution q11 q10 q01 q00 /\ q11 + q10 == p /\ q11 + q01 == p' /\ q10 == low p p'.
Proof. intros. apply sharp; try assumption. split; [apply Qle_refl | now apply interval_not_empty]. Qed.

Corollary sharp_up :
  forall p p', 0 <= p <= 1 -> 0 <= p' <= 1 ->
  exists q11 q10 q01 q00,
    distribution q11 q10 q01 q00 /\ q11 + q10 == p /\ q11 + q01 == p' /\ q10 == up p p'.
Proof. intros. apply sharp; try assumption. split; [now apply interval_not_empty | apply Qle_refl]. Qed.

(* Strata, any number of them: the differences, each multiplied by its weight. *)
Fixpoint sum (values : list Q) : Q :=
  match values with
  | [] => 0
  | x :: rest => x + sum rest
  end.

Theorem strata_above_pooled_low :
  forall differences, Qmax 0 (sum differences) <= sum (map (Qmax 0) differences).
Proof.
  induction differences as [| x rest above]; simpl.
  - apply Q.max_lub; apply Qle_refl.
  - pose proof (Q.le_max_l 0 x). pose proof (Q.le_max_r 0 x).
    pose proof (Q.le_max_l 0 (sum rest)). pose proof (Q.le_max_r 0 (sum rest)).
    apply Q.max_lub; lra.
Qed.

(* One instance with success rates p and p'; its runs are independent. *)
Theorem selector : forall p p' s, 0 <= s <= 1 -> s * (p - p') <= low p p'.
Proof. intros p p' s between. cases_of_low p p'; nra. Qed.

Theorem PS_correction : forall p p', 0 <= p' <= 1 -> (1 - p') * (p - p') <= low p p'.
Proof. intros. apply selector. lra. Qed.

Theorem PN_correction : forall p p', 0 <= p <= 1 -> p * (p - p') <= low p p'.
Proof. intros. now apply selector. Qed.

(* The naive paired rate is no lower bound: nothing has an effect here, and it is 1/4. *)
Theorem plug_in_refuted : ~ (1 # 2) * (1 - (1 # 2)) <= low (1 # 2) (1 # 2).
Proof. unfold low. vm_compute. intro bounded. now apply bounded. Qed.
